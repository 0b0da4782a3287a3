{{- define "busgate.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 52 | trimSuffix "-" -}}
{{- else -}}
{{- ternary .Release.Name (printf "%s-%s" .Release.Name .Chart.Name) (contains .Chart.Name .Release.Name) | trunc 52 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "busgate.serviceAccountName" -}}
{{- .Values.serviceAccount.name | default (ternary (include "busgate.fullname" .) "default" .Values.serviceAccount.create) -}}
{{- end -}}

{{/* Labels of every role. */}}
{{- define "busgate.releaseLabels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "busgate.commonLabels" -}}
{{ include "busgate.releaseLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- range $label, $value := omit .Values.commonLabels "app.kubernetes.io/name" "app.kubernetes.io/instance" "app.kubernetes.io/version" "app.kubernetes.io/managed-by" "app.kubernetes.io/component" "helm.sh/chart" }}
{{ $label }}: {{ $value | quote }}
{{- end }}
{{- end -}}

{{/* The templates below take a role's scope: (dict "root" $ "role" "worker" "values" .Values.worker). */}}
{{- define "busgate.selectorLabels" -}}
{{ include "busgate.releaseLabels" .root }}
app.kubernetes.io/component: {{ .role }}
{{- end -}}

{{- define "busgate.labels" -}}
{{ include "busgate.commonLabels" .root }}
app.kubernetes.io/component: {{ .role }}
{{- end -}}

{{/* Name and labels of a role's objects. */}}
{{- define "busgate.metadata" -}}
name: {{ include "busgate.fullname" .root }}-{{ .role }}
labels:
  {{- include "busgate.labels" . | nindent 2 }}
{{- end -}}

{{/*
The settings file of a role. The receiver gets no settings of the gateway, and the page only its time-out and the quiet hours
of the accounts: a rate would require the account's API key. Both get no address for hooks, because they make none, and no
commands.maxInFlight, which gateway.maxOperations bounds.
Workers leave reconciler.rate of an account's rate to the reconciler. Without a reconciler they use the whole rate.
*/}}
{{- define "busgate.settings" -}}
{{- $config := .root.Values.config -}}
{{- if has .role (list "callbacks" "ui") -}}
{{- $config = omit $config "gateway" "reconciler" -}}
{{- with $config.callbacks }}{{ $config = merge (dict "callbacks" (omit . "publicUrl")) (omit $config "callbacks") }}{{ end -}}
{{- with $config.commands }}{{ $config = merge (dict "commands" (omit . "maxInFlight")) (omit $config "commands") }}{{ end -}}
{{- end -}}
{{- if eq .role "ui" -}}
{{- $all := dig "gateway" "quietHours" "" .root.Values.config -}}
{{- $quiet := dict -}}
{{- $keys := .root.Values.secretKeys -}}
{{- range $name := concat (ternary (list "default") list (ne $keys.gatewayApiKey "")) (keys $keys.accountApiKeys) -}}
{{- with dig "gateway" "accounts" $name "quietHours" $all $.root.Values.config }}{{ $_ := set $quiet $name (dict "quietHours" .) }}{{ end -}}
{{- end -}}
{{- $gateway := pick .root.Values.config.gateway "timeoutMs" -}}
{{- if $quiet }}{{ $_ := set $gateway "accounts" $quiet }}{{ end -}}
{{- if $gateway }}{{ $config = merge (dict "gateway" $gateway) $config }}{{ end -}}
{{- end -}}
{{- if not .root.Values.reconciler.enabled -}}{{- $config = omit $config "reconciler" -}}{{- end -}}
{{- toYaml $config -}}
{{- end -}}

{{/* The secrets of a role, as YAML: each …File variable with its key in the Secret. */}}
{{- define "busgate.secretFiles" -}}
{{- $keys := .root.Values.secretKeys -}}
{{- $config := .root.Values.config -}}
{{- $files := dict -}}
{{- if not (has .role (list "callbacks" "ui")) -}}
{{- with $keys.gatewayApiKey }}{{ $_ := set $files "BUSGATE_GATEWAY_API_KEY_FILE" . }}{{ end -}}
{{- range $account, $key := $keys.accountApiKeys -}}
{{- $_ := set $files (printf "BUSGATE_GATEWAY_ACCOUNTS_%s_API_KEY_FILE" (upper $account)) $key -}}
{{- end -}}
{{- end -}}
{{- if and (ne .role "ui") (or (eq .role "callbacks") (dig "callbacks" "publicUrl" "" $config)) -}}
{{- $_ := set $files "BUSGATE_CALLBACKS_SECRET_FILE" $keys.callbacksSecret -}}
{{- end -}}
{{- if eq (dig "kafka" "sasl" "mechanism" "" $config) "oauthbearer" -}}
{{- $_ := set $files "BUSGATE_KAFKA_SASL_CLIENT_SECRET_FILE" $keys.kafkaClientSecret -}}
{{- else if dig "kafka" "sasl" "username" "" $config -}}
{{- $_ := set $files "BUSGATE_KAFKA_SASL_PASSWORD_FILE" $keys.kafkaPassword -}}
{{- end -}}
{{- if dig "registry" "username" "" $config -}}
{{- $_ := set $files "BUSGATE_REGISTRY_PASSWORD_FILE" $keys.registryPassword -}}
{{- end -}}
{{- with $keys.registryToken -}}
{{- $_ := set $files "BUSGATE_REGISTRY_TOKEN_FILE" . -}}
{{- end -}}
{{- if eq .role "worker" -}}
{{- with $keys.sealingKeys }}{{ $_ := set $files "BUSGATE_SEALING_KEYS_FILE" . }}{{ end -}}
{{- end -}}
{{- toYaml $files -}}
{{- end -}}

{{/*
The certificates of a role, as a YAML list: the volume's name and path, its Secret, and for each file the key and the
variable that names it. The receiver and the page get no certificates of the gateway.
*/}}
{{- define "busgate.certificates" -}}
{{- $values := .root.Values -}}
{{- $all := list -}}
{{- range $of := list "kafka" "registry" "gateway" -}}
{{- $tls := get $values (printf "%sTls" $of) -}}
{{- $variable := printf "BUSGATE_%s_SSL" (upper $of) -}}
{{- if and $tls.ca.secret (not (and (eq $of "gateway") (has $.role (list "callbacks" "ui")))) -}}
{{- $files := list (dict "key" $tls.ca.key "variable" (printf "%s_CA_FILE" $variable)) -}}
{{- $all = append $all (dict "name" (printf "%s-ca" $of) "secret" $tls.ca.secret "files" $files) -}}
{{- end -}}
{{- with $tls.client -}}
{{- if .secret -}}
{{- $cert := dict "key" .certKey "variable" (printf "%s_CERT_FILE" $variable) -}}
{{- $key := dict "key" .keyKey "variable" (printf "%s_KEY_FILE" $variable) -}}
{{- $all = append $all (dict "name" (printf "%s-client" $of) "secret" .secret "files" (list $cert $key)) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- range $all }}{{ $_ := set . "place" (printf "/etc/busgate-%s" .name) }}{{ end -}}
{{- toYaml $all -}}
{{- end -}}

{{/* The variables of a role's pods that the chart sets, as YAML: names and values. Takes a role's scope. */}}
{{- define "busgate.env" -}}
{{- $env := dict "BUSGATE_CONFIG" "/etc/busgate/busgate.yaml" -}}
{{- if ne .role "ui" }}{{ $_ := set $env "BUSGATE_ROLES" .role }}{{ end -}}
{{- range $variable, $key := include "busgate.secretFiles" . | fromYaml -}}
{{- $_ := set $env $variable (printf "/run/secrets/busgate/%s" $key) -}}
{{- end -}}
{{- range include "busgate.certificates" . | fromYamlArray -}}
{{- $place := .place -}}
{{- range .files }}{{ $_ := set $env .variable (printf "%s/%s" $place .key) }}{{ end -}}
{{- end -}}
{{- if eq (dig "autoscaling" "by" "none" .values) "lag" -}}
{{- range (include "busgate.kedaVariables" .root | fromYaml) }}{{ $_ := set $env .name .value }}{{ end -}}
{{- end -}}
{{- with .root.Values.trustedCa -}}
{{- if .configMap }}{{ $_ := set $env "NODE_EXTRA_CA_CERTS" (printf "/etc/busgate-ca/%s" .key) }}{{ end -}}
{{- end -}}
{{- with .values.nodeOptions }}{{ $_ := set $env "NODE_OPTIONS" . }}{{ end -}}
{{- range .root.Values.extraEnv -}}
{{- if hasKey $env .name }}{{ fail (printf "extraEnv: the chart sets %s: change the value that it comes from (see values.yaml)" .name) }}{{ end -}}
{{- end -}}
{{- toYaml $env -}}
{{- end -}}

{{/*
The grace period in seconds: 5 for preStop, the longest time for requests in flight, 15 that `busgate run` takes for the rest,
and 5 in reserve.
*/}}
{{- define "busgate.gracePeriod" -}}
{{- add (ceil (divf (dig "gateway" "timeoutMs" 30000 .Values.config) 1000)) 25 -}}
{{- end -}}

{{/* The milliseconds that a rebalance waits for requests in flight, derived as by busgate. */}}
{{- define "busgate.drainMs" -}}
{{- $withinSession := div (mul 9 (dig "kafka" "sessionTimeoutMs" 10000 .Values.config)) 10 -}}
{{- min $withinSession (dig "gateway" "timeoutMs" 30000 .Values.config) -}}
{{- end -}}

{{/* A file with the runbooks' address replaced. Takes (dict "root" $ "file" "alerts/busgate.rules.yaml"). */}}
{{- define "busgate.file" -}}
{{- .root.Files.Get .file | trim | replace "https://busgate.example/runbooks" .root.Values.runbooksUrl -}}
{{- end -}}

{{/*
The host of config.callbacks.publicUrl, for objects that route it to the receiver. Takes (dict "root" $ "for" "callbacks.ingress").
*/}}
{{- define "busgate.publicHost" -}}
{{- $values := .root.Values -}}
{{- if not $values.callbacks.enabled }}{{ fail (printf "%s: there is no receiver while callbacks.enabled is false" .for) }}{{ end -}}
{{- $publicUrl := dig "callbacks" "publicUrl" "" $values.config -}}
{{- if not $publicUrl }}{{ fail (printf "%s: set config.callbacks.publicUrl, whose host it routes" .for) }}{{ end -}}
{{- $url := urlParse $publicUrl -}}
{{- if regexMatch "^[0-9.]+$|:" $url.hostname }}{{ fail (printf "%s: it needs a host name, and config.callbacks.publicUrl has the address %s" .for $url.hostname) }}{{ end -}}
{{- if trimAll "/" $url.path }}{{ fail (printf "%s: config.callbacks.publicUrl must have no path: paths are passed on unchanged, and the receiver serves /hooks/" .for) }}{{ end -}}
{{- $url.hostname -}}
{{- end -}}
