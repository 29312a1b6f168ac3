{{- /* Environment variables of a pod; dict root component. */ -}}
{{- define "pitwall.env" -}}
{{- $component := .component }}
{{- with .root.Values.auth }}
{{- if .existingSecret }}
- name: PITWALL_VIEW_TOKEN
  valueFrom: {secretKeyRef: {name: {{ .existingSecret }}, key: {{ .viewKey }}}}
{{- if .actKey }}
- name: PITWALL_ACT_TOKEN
  valueFrom: {secretKeyRef: {name: {{ .existingSecret }}, key: {{ .actKey }}}}
{{- end }}
{{- end }}
{{- end }}
{{- if has $component (list "notifier" "standalone") }}
{{- range $i, $hook := .root.Values.notifier.webhooks }}
{{- with $hook.existingSecret }}
- name: PITWALL_WEBHOOK_{{ $i }}
  valueFrom: {secretKeyRef: {name: {{ .name }}, key: {{ .key }}}}
{{- end }}
{{- end }}
{{- end }}
{{- if has $component (list "executor-cluster" "standalone") }}
{{- if .root.Values.executor.cluster.enabled }}
{{- with .root.Values.executor.cluster.webhook.existingSecret }}
- name: PITWALL_STOP_WEBHOOK
  valueFrom: {secretKeyRef: {name: {{ .name }}, key: {{ .key }}}}
{{- end }}
{{- end }}
{{- end }}
{{- if has $component (list "notifier" "standalone") }}
{{- range $kind := list "alertmanagers" "email" "gateways" "pagerduty" "slack" }}
{{- range $i, $one := get $.root.Values.notifier $kind }}
{{- with $one.existingSecret }}
- name: PITWALL_{{ upper $kind }}_{{ $i }}
  valueFrom: {secretKeyRef: {name: {{ .name }}, key: {{ .key }}}}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- if or (hasPrefix "collector" $component) (has $component (list "executor" "standalone")) }}
- name: NODE_NAME
  valueFrom: {fieldRef: {fieldPath: spec.nodeName}}
{{- end }}
{{- if or (eq $component "processor") (and (eq $component "insights") (gt (int .root.Values.insights.replicas) 1)) }}
- name: POD_INDEX
  valueFrom: {fieldRef: {fieldPath: "metadata.labels['apps.kubernetes.io/pod-index']"}}
{{- end }}
{{- end }}

{{- /* Files of a pod, as volumes and mounts; dict root component. */ -}}
{{- define "pitwall.volumes" -}}
- name: config
  configMap: {name: {{ include "pitwall.fullname" .root }}-{{ .component }}}
{{- with .root.Values.tls.existingSecret }}
- name: tls
  secret: {secretName: {{ . }}, defaultMode: 0440}
{{- end }}
{{- with .root.Values.kafka.existingSecret }}
- name: kafka
  secret: {secretName: {{ . }}, defaultMode: 0440}
{{- end }}
{{- if has .component (list "processor" "standalone") }}
{{- with .root.Values.rules.existingConfigMap.name }}
- name: rules
  configMap: {name: {{ . }}}
{{- end }}
{{- with .root.Values.rules.baselineConfigMap }}
- name: baselines
  configMap: {name: {{ . }}}
{{- end }}
{{- end }}
{{- end }}

{{- define "pitwall.mounts" -}}
- {name: config, mountPath: /etc/pitwall, readOnly: true}
- {name: data, mountPath: /var/lib/pitwall}
{{- if .root.Values.tls.existingSecret }}
- {name: tls, mountPath: /etc/pitwall-tls, readOnly: true}
{{- end }}
{{- if .root.Values.kafka.existingSecret }}
- {name: kafka, mountPath: /etc/pitwall-kafka, readOnly: true}
{{- end }}
{{- if has .component (list "processor" "standalone") }}
{{- if .root.Values.rules.existingConfigMap.name }}
- {name: rules, mountPath: /etc/pitwall-rules, readOnly: true}
{{- end }}
{{- if .root.Values.rules.baselineConfigMap }}
- {name: baselines, mountPath: /etc/pitwall-baselines, readOnly: true}
{{- end }}
{{- end }}
{{- end }}

{{- /*
The pod template of a workload. A dict with:
  root, component, values (of the component)
  args       further arguments
  node       whether it looks at its node: root of the container, the node's processes and folders
  hostPorts  whether it has the node's network
  token      whether it calls the API of Kubernetes
  caps       capabilities
  data       the volume of /var/lib/pitwall; missing: a claim template has it
  volumes, mounts, pod   further ones
*/ -}}
{{- define "pitwall.podTemplate" -}}
{{- $pod := mergeOverwrite (deepCopy .root.Values.pod) (deepCopy .values.pod) (deepCopy (.pod | default dict)) }}
{{- $scheme := ternary "HTTPS" "HTTP" (ne .root.Values.tls.existingSecret "") }}
metadata:
  annotations:
    checksum/config: {{ include "pitwall.restartHash" . }}
    {{- with $pod.annotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  labels:
    {{- include "pitwall.labels" . | nindent 4 }}
    {{- with $pod.labels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  serviceAccountName: {{ include "pitwall.account" (merge (dict "component" (.accountOf | default .component)) .) }}
  automountServiceAccountToken: {{ .token | default false }}
  enableServiceLinks: false
  {{- with .root.Values.imagePullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  terminationGracePeriodSeconds: {{ $pod.terminationGracePeriodSeconds }}
  {{- if .node }}
  hostPID: true
  securityContext:
    seccompProfile: {type: RuntimeDefault}
  {{- else }}
  securityContext:
    runAsNonRoot: true
    runAsUser: 10001
    runAsGroup: 10001
    fsGroup: 10001
    fsGroupChangePolicy: OnRootMismatch
    seccompProfile: {type: RuntimeDefault}
  {{- end }}
  {{- if .hostPorts }}
  hostNetwork: true
  dnsPolicy: ClusterFirstWithHostNet
  {{- end }}
  {{- range $key := list "nodeSelector" "tolerations" "affinity" "topologySpreadConstraints" "initContainers" }}
  {{- with index $pod $key }}
  {{ $key }}:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- end }}
  {{- range $key := list "priorityClassName" "runtimeClassName" }}
  {{- with index $pod $key }}
  {{ $key }}: {{ . }}
  {{- end }}
  {{- end }}
  containers:
    - name: pitwall
      image: {{ include "pitwall.image" .root }}
      imagePullPolicy: {{ .root.Values.image.pullPolicy }}
      args:
        - {{ regexReplaceAll "-(gpu|cluster)$" .component "" }}
        - --config=/etc/pitwall/pitwall.yaml
        {{- if .node }}
        - --node=$(NODE_NAME)
        {{- end }}
        {{- range .args }}
        - {{ . }}
        {{- end }}
        {{- range $pod.extraArgs }}
        - {{ . | quote }}
        {{- end }}
      {{- if or (include "pitwall.env" .) $pod.extraEnv .env }}
      env:
        {{- with include "pitwall.env" . | trim }}
        {{- . | nindent 8 }}
        {{- end }}
        {{- with .env }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
        {{- with $pod.extraEnv }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      {{- end }}
      {{- with $pod.extraEnvFrom }}
      envFrom:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      ports:
        - {name: http, containerPort: {{ .httpPort | default 9870 }}}
        {{- if has .component (list "notifier" "standalone") }}
        - {name: grpc, containerPort: 9871}
        {{- end }}
      startupProbe:
        tcpSocket: {port: http}
        periodSeconds: 5
        failureThreshold: 120
      livenessProbe:
        tcpSocket: {port: http}
        periodSeconds: 15
        failureThreshold: 4
      readinessProbe:
        httpGet: {path: /readyz, port: http, scheme: {{ $scheme }}}
        periodSeconds: 5
        timeoutSeconds: 3
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        {{- if .node }}
        runAsUser: 0
        runAsGroup: 0
        {{- end }}
        capabilities:
          drop: [ALL]
          {{- with .caps }}
          add: {{ toJson . }}
          {{- end }}
      {{- with $pod.resources }}
      resources:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      volumeMounts:
        {{- include "pitwall.mounts" . | nindent 8 }}
        {{- with .mounts }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
        {{- with $pod.extraVolumeMounts }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
    {{- with $pod.extraContainers }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  volumes:
    {{- include "pitwall.volumes" . | nindent 4 }}
    {{- with .data }}
    - {{ toYaml . | nindent 6 | trim }}
    {{- end }}
    {{- with .volumes }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
    {{- with $pod.extraVolumes }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end }}

{{- /* Volume claim templates for /var/lib/pitwall; argument: the persistence values. */ -}}
{{- define "pitwall.claims" -}}
persistentVolumeClaimRetentionPolicy: {whenDeleted: Retain, whenScaled: Retain}
volumeClaimTemplates:
  - metadata: {name: data}
    spec:
      accessModes: [ReadWriteOnce]
      {{- with .storageClassName }}
      storageClassName: {{ . }}
      {{- end }}
      resources: {requests: {storage: {{ .size }}}}
{{- end }}

{{- /* Volumes and mounts of node directories, as a map of both; dict root spool. */ -}}
{{- define "pitwall.nodeFolders" -}}
{{- $c := .root.Values.collector }}
volumes:
  - {name: socket, hostPath: {path: {{ $c.socket.hostPath }}, type: DirectoryOrCreate}}
  - {name: cgroup, hostPath: {path: /sys/fs/cgroup, type: Directory}}
  {{- if $c.dropHostPath }}
  - {name: jobs, hostPath: {path: {{ $c.dropHostPath }}, type: DirectoryOrCreate}}
  {{- end }}
mounts:
  - {name: socket, mountPath: /run/pitwall}
  - {name: cgroup, mountPath: /sys/fs/cgroup, readOnly: true}
  {{- if $c.dropHostPath }}
  - {name: jobs, mountPath: /run/pitwall-jobs, readOnly: true}
  {{- end }}
{{- end }}
