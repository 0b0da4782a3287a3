{{/* Both ways of scaling take a role's scope. Each rebalance pauses the group, so scale seldom. */}}
{{- define "busgate.scalingBehavior" -}}
scaleUp:
  stabilizationWindowSeconds: 60
  policies:
    - type: Percent
      value: 100
      periodSeconds: 60
scaleDown:
  stabilizationWindowSeconds: 600
  policies:
    - type: Percent
      value: 50
      periodSeconds: 300
{{- end -}}

{{- define "busgate.horizontalPodAutoscaler" -}}
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata:
  {{- include "busgate.metadata" . | nindent 2 }}
spec:
  scaleTargetRef:
    apiVersion: apps/v1
    kind: Deployment
    name: {{ include "busgate.fullname" .root }}-{{ .role }}
  {{- include "busgate.replicaBounds" . | fromYaml | toYaml | nindent 2 }}
  metrics:
    - type: Resource
      resource:
        name: cpu
        target:
          type: Utilization
          averageUtilization: {{ .values.autoscaling.cpuPercent }}
  behavior:
    {{- include "busgate.scalingBehavior" . | nindent 4 }}
{{- end -}}

{{- define "busgate.replicaBounds" -}}
{{- $least := int .values.autoscaling.minReplicas -}}
{{- $most := int .values.autoscaling.maxReplicas -}}
{{- if lt $most $least }}{{ fail (printf "%s.autoscaling: maxReplicas must not be below minReplicas" .role) }}{{ end -}}
minReplicas: {{ $least }}
maxReplicas: {{ $most }}
{{- end -}}

{{/* For KEDA: the lag of each command topic. The topic that needs the most pods decides. */}}
{{- define "busgate.scaledObject" -}}
{{- $kafka := .root.Values.config.kafka -}}
{{- $name := printf "%s-%s" (include "busgate.fullname" .root) .role -}}
{{- $bounds := include "busgate.replicaBounds" . | fromYaml -}}
{{- $tls := include "busgate.kafkaTls" .root -}}
{{- $credentials := include "busgate.kedaCredentials" .root | fromYaml -}}
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata:
  {{- include "busgate.metadata" . | nindent 2 }}
spec:
  scaleTargetRef:
    name: {{ $name }}
  minReplicaCount: {{ $bounds.minReplicas }}
  maxReplicaCount: {{ $bounds.maxReplicas }}
  advanced:
    horizontalPodAutoscalerConfig:
      behavior:
        {{- include "busgate.scalingBehavior" . | nindent 8 }}
  triggers:
    {{- range $topic := dig "topics" "commands" (list "busgate.commands.otp" "busgate.commands") .root.Values.config }}
    - type: kafka
      metadata:
        bootstrapServers: {{ $kafka.brokers | join "," | quote }}
        consumerGroup: {{ dig "groupId" "busgate" $kafka | quote }}
        topic: {{ $topic | quote }}
        lagThreshold: {{ $.values.autoscaling.lagThreshold | int | quote }}
        offsetResetPolicy: {{ ternary "latest" "earliest" (eq (dig "startFrom" "earliest" $kafka) "latest") }}
        # More pods would not help if an account is paused or the gateway is down.
        excludePersistentLag: "true"
        {{- if $tls }}
        tls: enable
        {{- end }}
        {{- with dig "sasl" "mechanism" "" $kafka }}
        sasl: {{ get (dict "plain" "plaintext" "scram-sha-256" "scram_sha256" "scram-sha-512" "scram_sha512" "oauthbearer" "oauthbearer") . }}
        {{- end }}
      {{- if $credentials }}
      authenticationRef:
        name: {{ $name }}
      {{- end }}
    {{- end }}
{{- if $credentials }}
---
apiVersion: keda.sh/v1alpha1
kind: TriggerAuthentication
metadata:
  {{- include "busgate.metadata" . | nindent 2 }}
spec:
  {{- with include "busgate.kedaVariables" .root | fromYaml }}
  # KEDA takes names and addresses from variables of the pods it scales, not from here.
  env:
    {{- range $parameter, $variable := . }}
    - parameter: {{ $parameter }}
      name: {{ $variable.name }}
      containerName: {{ $.role }}
    {{- end }}
  {{- end }}
  {{- $credentials | toYaml | nindent 2 }}
{{- end }}
{{- end -}}

{{/* Whether connections to the brokers use TLS; empty if not. */}}
{{- define "busgate.kafkaTls" -}}
{{- with .Values -}}
{{- if or (dig "kafka" "ssl" false .config) .kafkaTls.ca.secret .kafkaTls.client.secret }}true{{ end -}}
{{- end -}}
{{- end -}}

{{/* The parts of KEDA's login that are not secret, as YAML: the parameter, and the variable's name and value. */}}
{{- define "busgate.kedaVariables" -}}
{{- $sasl := dig "kafka" "sasl" dict .Values.config -}}
{{- $settings := dict "username" "username" -}}
{{- if eq (dig "mechanism" "" $sasl) "oauthbearer" -}}
{{- $settings = dict "username" "clientId" "oauthTokenEndpointUri" "tokenEndpoint" "scopes" "scope" -}}
{{- end -}}
{{- $variables := dict -}}
{{- range $parameter, $setting := $settings -}}
{{- with get $sasl $setting -}}
{{- $_ := set $variables $parameter (dict "name" (printf "BUSGATE_KAFKA_SASL_%s" (snakecase $setting | upper)) "value" .) -}}
{{- end -}}
{{- end -}}
{{- with $sasl.extensions -}}
{{- $pairs := list -}}
{{- range $name, $value := . }}{{ $pairs = append $pairs (printf "%s=%s" $name $value) }}{{ end -}}
{{- $_ := set $variables "oauthExtensions" (dict "name" "KEDA_OAUTH_EXTENSIONS" "value" (join "," $pairs)) -}}
{{- end -}}
{{- range list "audience" "resource" -}}
{{- if hasKey $sasl . }}{{ fail (printf "worker.autoscaling.by lag: KEDA cannot request a token with config.kafka.sasl.%s; use cpu" .) }}{{ end -}}
{{- end -}}
{{- toYaml $variables -}}
{{- end -}}

{{/* The references to Secrets and ConfigMaps for KEDA, as YAML of a TriggerAuthentication. */}}
{{- define "busgate.kedaCredentials" -}}
{{- $values := .Values -}}
{{- $sasl := dig "kafka" "sasl" dict $values.config -}}
{{- $secrets := list -}}
{{- $credentials := dict -}}
{{- if eq (dig "mechanism" "" $sasl) "oauthbearer" -}}
{{- $secrets = append $secrets (dict "parameter" "password" "name" $values.existingSecret "key" $values.secretKeys.kafkaClientSecret) -}}
{{- else if dig "username" "" $sasl -}}
{{- $secrets = append $secrets (dict "parameter" "password" "name" $values.existingSecret "key" $values.secretKeys.kafkaPassword) -}}
{{- end -}}
{{- with $values.kafkaTls.ca -}}
{{- if .secret }}{{ $secrets = append $secrets (dict "parameter" "ca" "name" .secret "key" .key) }}{{ end -}}
{{- end -}}
{{- with $values.kafkaTls.client -}}
{{- if .secret -}}
{{- $secrets = append $secrets (dict "parameter" "cert" "name" .secret "key" .certKey) -}}
{{- $secrets = append $secrets (dict "parameter" "key" "name" .secret "key" .keyKey) -}}
{{- end -}}
{{- end -}}
{{- if $secrets }}{{ $_ := set $credentials "secretTargetRef" $secrets }}{{ end -}}
{{- if and (include "busgate.kafkaTls" .) $values.trustedCa.configMap (not $values.kafkaTls.ca.secret) -}}
{{- $ca := dict "parameter" "ca" "name" $values.trustedCa.configMap "key" $values.trustedCa.key -}}
{{- $_ := set $credentials "configMapTargetRef" (list $ca) -}}
{{- end -}}
{{- toYaml $credentials -}}
{{- end -}}
