{{- /* Configuration keys common to all services, as a YAML map. */ -}}
{{- define "pitwall.baseConfig" -}}
data_dir: /var/lib/pitwall
log_level: {{ .Values.logLevel }}
reload_interval: {{ .Values.reloadInterval }}
{{- if and .Values.ingress.enabled .Values.ingress.host }}
external_url: {{ printf "%s://%s" (ternary "https" "http" (ne .Values.ingress.tlsSecret "")) .Values.ingress.host }}
{{- end }}
http:
  listen: {{ printf "%s:9870" .Values.listenAddress | quote }}
  {{- include "pitwall.serverConfig" . | nindent 2 }}
grpc:
  listen: {{ printf "%s:9871" .Values.listenAddress | quote }}
  {{- include "pitwall.serverConfig" . | nindent 2 }}
log:
{{- if eq .Values.mode "distributed" }}
  kind: kafka
  brokers: {{ .Values.kafka.brokers | quote }}
  {{- with .Values.kafka.rdkafka }}
  rdkafka:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- else }}
  kind: embedded
{{- end }}
{{- end }}

{{- define "pitwall.serverConfig" -}}
{{- with .Values.auth }}
{{- if .existingSecret }}
token_file: env:PITWALL_VIEW_TOKEN
{{- if .actKey }}
act_token_file: env:PITWALL_ACT_TOKEN
{{- end }}
{{- end }}
{{- end }}
{{- if .Values.tls.existingSecret }}
tls: {certificate: /etc/pitwall-tls/tls.crt, key: /etc/pitwall-tls/tls.key}
{{- end }}
{{- end }}

{{- define "pitwall.rulesConfig" -}}
rules:
  files:
    {{- range .Values.rules.packs }}
    - {{ printf "pack:%s" . }}
    {{- end }}
    {{- range $name, $text := .Values.rules.own }}
    - /etc/pitwall/{{ $name }}
    {{- end }}
    {{- range .Values.rules.existingConfigMap.files }}
    - /etc/pitwall-rules/{{ . }}
    {{- end }}
  {{- if .Values.rules.overrides }}
  overrides: /etc/pitwall/overrides.yaml
  {{- end }}
  {{- if .Values.rules.baselineConfigMap }}
  baseline: [/etc/pitwall-baselines]
  {{- end }}
{{- end }}

{{- define "pitwall.webhooksConfig" -}}
{{- range $i, $hook := .Values.notifier.webhooks }}
- {{ omit $hook "existingSecret" | toYaml | nindent 2 | trim }}
  {{- if $hook.existingSecret }}
  secrets: ["env:PITWALL_WEBHOOK_{{ $i }}"]
  {{- end }}
{{- end }}
{{- end }}

{{- /* Receivers other than webhooks. Their secrets come from existingSecret through environment variables. */}}
{{- define "pitwall.receiversConfig" -}}
{{- $v := .Values.notifier }}
{{- range $kind, $secret := dict "alertmanagers" "headers" "slack" "url" "email" "password" "gateways" "url" "pagerduty" "routing_key" }}
{{- with get $v $kind }}
{{ $kind }}:
{{- range $i, $one := . }}
  - {{ omit $one "existingSecret" | toYaml | nindent 4 | trim }}
    {{- if $one.existingSecret }}
    {{- $place := printf "env:PITWALL_%s_%d" (upper $kind) $i }}
    {{ if eq $secret "headers" }}headers: {Authorization: {{ $place | quote }}}{{ else }}{{ $secret }}: {{ $place | quote }}{{ end }}
    {{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- with $v.routes }}
routes:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "pitwall.config.processor" -}}
processor:
  partitions: {{ .Values.processor.partitions }}
{{ include "pitwall.rulesConfig" . }}
{{- end }}

{{- define "pitwall.config.collector" -}}
http:
  listen: {{ printf "%s:%v" .Values.listenAddress .Values.collector.httpPort | quote }}
collector:
  interval: {{ .Values.collector.interval }}
  socket: /run/pitwall/collector.sock
  socket_mode: {{ .Values.collector.socket.mode | quote }}
  {{- with .Values.collector.socket.group }}
  socket_group: {{ . | quote }}
  {{- end }}
  {{- if .Values.collector.dropHostPath }}
  drop_dir: /run/pitwall-jobs
  {{- end }}
  {{- if .Values.collector.pods.enabled }}
  pods:
    url: {{ .Values.collector.pods.url | quote }}
    owners: {{ .Values.collector.pods.owners }}
  {{- end }}
  gpus: false
processor:
  partitions: {{ .Values.processor.partitions }}
{{- end }}

{{- define "pitwall.config.collector-gpu" -}}
{{ include "pitwall.config.collector" . | replace "gpus: false" "gpus: true" }}
{{- end }}

{{- define "pitwall.config.notifier" -}}
notifier:
  {{- with .Values.notifier.allowedCidrs }}
  allowed_cidrs:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  webhooks:
    {{- include "pitwall.webhooksConfig" . | nindent 4 }}
    {{- if not .Values.notifier.webhooks }}
    []
    {{- end }}
  {{- with include "pitwall.receiversConfig" . | trim }}
  {{- . | nindent 2 }}
  {{- end }}
processor:
  partitions: {{ .Values.processor.partitions }}
{{- end }}

{{- /* Decision settings shared by both executors. */ -}}
{{- define "pitwall.policies" -}}
budget: {{ .Values.executor.budget }}
policies:
  {{- toYaml .Values.executor.policies | nindent 2 }}
{{- with .Values.executor.exempt }}
exempt:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "pitwall.config.executor" -}}
executor:
  {{- include "pitwall.policies" . | nindent 2 }}
  {{- if .Values.executor.cluster.enabled }}
  stops: processes
  {{- end }}
processor:
  partitions: {{ .Values.processor.partitions }}
{{- end }}

{{- define "pitwall.config.executor-cluster" -}}
{{- $cluster := .Values.executor.cluster }}
executor:
  {{- include "pitwall.policies" . | nindent 2 }}
  stops: {{ ternary "all" "cluster" (eq .Values.mode "standalone") }}
  kubernetes:
    enabled: true
    delete: {{ $cluster.delete }}
    list_pods: {{ $cluster.listPods }}
  {{- with $cluster.webhook }}
  webhook:
    {{- omit . "existingSecret" | toYaml | nindent 4 }}
    {{- if .existingSecret }}
    secrets: ["env:PITWALL_STOP_WEBHOOK"]
    {{- end }}
  {{- end }}
processor:
  partitions: {{ .Values.processor.partitions }}
{{- end }}

{{- define "pitwall.config.insights" -}}
insights:
  retention: {{ .Values.insights.retention }}
  max_bytes: {{ .Values.insights.maxBytes | int64 }}
  {{- if and (eq .Values.mode "distributed") (gt (int .Values.insights.replicas) 1) }}
  peers:
    {{- range $index := until (int .Values.insights.replicas) }}
    - {{ ternary "http" "https" (eq $.Values.tls.existingSecret "") }}://{{ include "pitwall.fullname" $ }}-insights-peer-{{ $index }}:9870
    {{- end }}
  {{- end }}
processor:
  partitions: {{ .Values.processor.partitions }}
{{- end }}

{{- define "pitwall.config.standalone" -}}
{{- $collector := include "pitwall.config.collector" . | fromYaml }}
{{- $_ := unset $collector "http" }}
{{- $_ := set $collector.collector "gpus" .Values.standalone.gpus }}
{{- $all := merge $collector (include "pitwall.config.processor" . | fromYaml) (include "pitwall.config.notifier" . | fromYaml) (include "pitwall.config.insights" . | fromYaml) }}
{{- if or .Values.executor.enabled .Values.executor.cluster.enabled }}
{{- $name := ternary "executor-cluster" "executor" .Values.executor.cluster.enabled }}
{{- $all = merge $all (include (printf "pitwall.config.%s" $name) . | fromYaml) (dict "executor" (dict "enabled" true)) }}
{{- if not .Values.executor.enabled }}
{{- $_ := set $all.executor "stops" "cluster" }}
{{- end }}
{{- end }}
{{- toYaml $all }}
{{- end }}

{{- /* Complete configuration of a component; dict root component values. */ -}}
{{- define "pitwall.config" -}}
{{- $own := include (printf "pitwall.config.%s" .component) .root | fromYaml }}
{{- $base := include "pitwall.baseConfig" .root | fromYaml }}
{{- mergeOverwrite $base $own (deepCopy .root.Values.config) (deepCopy .values.config) | toYaml }}
{{- end }}

{{- /* Hash of the settings that take effect only after a restart. */ -}}
{{- define "pitwall.restartHash" -}}
{{- $config := include "pitwall.config" . | fromYaml }}
{{- $_ := unset $config "rules" }}
{{- with $config.collector }}{{ $_ := unset . "interval" }}{{ end }}
{{- toYaml $config | sha256sum }}
{{- end }}

{{- /* Data of a component's ConfigMap. */ -}}
{{- define "pitwall.configData" -}}
pitwall.yaml: |
  {{- include "pitwall.config" . | nindent 2 }}
{{- if has .component (list "processor" "standalone") }}
{{- range $name, $text := .root.Values.rules.own }}
{{ $name }}: |
  {{- $text | nindent 2 }}
{{- end }}
{{- with .root.Values.rules.overrides }}
overrides.yaml: |
  {{- . | nindent 2 }}
{{- end }}
{{- end }}
{{- end }}
