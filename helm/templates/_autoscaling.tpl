{{/* Both ways of scaling take a role's scope. Each change of the consumer group stops it for seconds: change it seldom. */}}
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

{{/* For KEDA: the lag of each command topic. The topic that asks for the most pods wins. */}}
{{- define "busgate.scaledObject" -}}
{{- $kafka := .root.Values.config.kafka -}}
{{- $name := printf "%s-%s" (include "busgate.fullname" .root) .role -}}
{{- $bounds := include "busgate.replicaBounds" . | fromYaml -}}
{{- $credentials := or (dig "sasl" "username" "" $kafka) .root.Values.trustedCa.configMap -}}
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
    {{- range $topic := (include "busgate.list" (dig "topics" "commands" "busgate.commands.otp,busgate.commands" .root.Values.config) | fromYaml).items }}
    - type: kafka
      metadata:
        bootstrapServers: {{ (include "busgate.list" $kafka.brokers | fromYaml).items | join "," | quote }}
        consumerGroup: {{ dig "groupId" "busgate" $kafka | quote }}
        topic: {{ $topic | quote }}
        lagThreshold: {{ $.values.autoscaling.lagThreshold | int | quote }}
        offsetResetPolicy: {{ ternary "latest" "earliest" (eq (dig "startFrom" "earliest" $kafka) "latest") }}
        # A paused account or a gateway that is down: more pods would not help.
        excludePersistentLag: "true"
        {{- if dig "ssl" false $kafka }}
        tls: enable
        {{- end }}
        {{- with dig "sasl" "mechanism" "" $kafka }}
        sasl: {{ get (dict "plain" "plaintext" "scram-sha-256" "scram_sha256" "scram-sha-512" "scram_sha512") . }}
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
  {{- if dig "sasl" "username" "" $kafka }}
  # KEDA takes a user's name from a variable of the pods it scales, not from here.
  env:
    - parameter: username
      name: BUSGATE_KAFKA_SASL_USERNAME
      containerName: {{ .role }}
  secretTargetRef:
    - parameter: password
      name: {{ .root.Values.existingSecret }}
      key: {{ .root.Values.secretKeys.kafkaPassword }}
  {{- end }}
  {{- with .root.Values.trustedCa.configMap }}
  configMapTargetRef:
    - parameter: ca
      name: {{ . }}
      key: {{ $.root.Values.trustedCa.key }}
  {{- end }}
{{- end }}
{{- end -}}
