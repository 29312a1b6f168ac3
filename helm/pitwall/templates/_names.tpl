{{- define "pitwall.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "pitwall.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 48 | trimSuffix "-" }}
{{- else if contains (include "pitwall.name" .) .Release.Name }}
{{- .Release.Name | trunc 48 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name (include "pitwall.name" .) | trunc 48 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- /* dict root component */ -}}
{{- define "pitwall.selector" -}}
app.kubernetes.io/name: {{ include "pitwall.name" .root }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{- define "pitwall.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
{{ include "pitwall.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
app.kubernetes.io/part-of: pitwall
{{- with .root.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- /* Metadata of a component's object; dict root component */ -}}
{{- define "pitwall.metadata" -}}
name: {{ include "pitwall.fullname" .root }}-{{ .component }}
namespace: {{ .root.Release.Namespace }}
labels:
  {{- include "pitwall.labels" . | nindent 2 }}
{{- end }}

{{- define "pitwall.image" -}}
{{- with .Values.image -}}
{{- with .registry }}{{ . }}/{{ end }}{{ .repository }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
{{- end }}
{{- end }}

{{- /* dict root component values */ -}}
{{- define "pitwall.account" -}}
{{- if .values.serviceAccount.create -}}
{{ .values.serviceAccount.name | default (printf "%s-%s" (include "pitwall.fullname" .root) .component) }}
{{- else -}}
{{ .values.serviceAccount.name | default "default" }}
{{- end }}
{{- end }}

{{- /* Component that serves the page's address. */ -}}
{{- define "pitwall.pageComponent" -}}
{{- if eq .Values.mode "standalone" }}standalone{{ else }}insights{{ end }}
{{- end }}
