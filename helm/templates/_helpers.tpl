{{- define "busgate.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 53 | trimSuffix "-" -}}
{{- else -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) | trunc 53 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "busgate.serviceAccountName" -}}
{{- .Values.serviceAccount.name | default (ternary (include "busgate.fullname" .) "default" .Values.serviceAccount.create) -}}
{{- end -}}

{{/* Takes a role's scope: (dict "root" $ "role" "worker"). */}}
{{- define "busgate.selectorLabels" -}}
app.kubernetes.io/name: {{ default .root.Chart.Name .root.Values.nameOverride | trunc 63 | trimSuffix "-" }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .role }}
{{- end -}}

{{- define "busgate.labels" -}}
{{ include "busgate.selectorLabels" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- end -}}

{{/* The settings file of a role. The receiver uses nothing of the gateway's, and a rate of an account asks for its key. */}}
{{- define "busgate.settings" -}}
{{- ternary (omit .root.Values.config "gateway") .root.Values.config (eq .role "callbacks") | toYaml -}}
{{- end -}}

{{/* What a role is given of the Secret, as YAML: each …File variable, and the key in the Secret. */}}
{{- define "busgate.secretFiles" -}}
{{- $keys := .root.Values.secretKeys -}}
{{- $config := .root.Values.config -}}
{{- $files := dict -}}
{{- if eq .role "worker" -}}
{{- with $keys.gatewayApiKey }}{{ $_ := set $files "BUSGATE_GATEWAY_API_KEY_FILE" . }}{{ end -}}
{{- range $account, $key := $keys.accountApiKeys -}}
{{- $_ := set $files (printf "BUSGATE_GATEWAY_ACCOUNTS_%s_API_KEY_FILE" (upper $account)) $key -}}
{{- end -}}
{{- if not $files }}{{ fail "secretKeys: give gatewayApiKey or accountApiKeys: the worker needs an API key" }}{{ end -}}
{{- end -}}
{{- if or (eq .role "callbacks") (dig "callbacks" "publicUrl" "" $config) -}}
{{- $_ := set $files "BUSGATE_CALLBACKS_SECRET_FILE" $keys.callbacksSecret -}}
{{- end -}}
{{- if dig "kafka" "sasl" "username" "" $config -}}
{{- $_ := set $files "BUSGATE_KAFKA_SASL_PASSWORD_FILE" $keys.kafkaPassword -}}
{{- end -}}
{{- if dig "registry" "username" "" $config -}}
{{- $_ := set $files "BUSGATE_REGISTRY_PASSWORD_FILE" $keys.registryPassword -}}
{{- end -}}
{{- toYaml $files -}}
{{- end -}}

{{/*
Seconds, rounded up: the 5 of preStop, kafka.drainMs, the 15 that `busgate run` allows itself beyond it, and 5 to spare.
*/}}
{{- define "busgate.gracePeriod" -}}
{{- add (ceil (divf (dig "kafka" "drainMs" 5000 .Values.config) 1000)) 25 -}}
{{- end -}}
