{{/* The Deployment of a role. Takes its scope. */}}
{{- define "busgate.deployment" -}}
{{- $root := .root -}}
{{- $name := printf "%s-%s" (include "busgate.fullname" $root) .role -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  {{- include "busgate.metadata" . | nindent 2 }}
  {{- with .values.annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  revisionHistoryLimit: {{ $root.Values.revisionHistoryLimit }}
  {{- if eq (dig "autoscaling" "by" "none" .values) "none" }}
  replicas: {{ dig "replicas" 1 .values }}
  {{- else }}
  {{- with lookup "apps/v1" "Deployment" $root.Release.Namespace $name }}
  # The current number of pods. If Helm removed the field, Kubernetes would stop all pods but one.
  replicas: {{ .spec.replicas }}
  {{- end }}
  {{- end }}
  selector:
    matchLabels:
      {{- include "busgate.selectorLabels" . | nindent 6 }}
  strategy:
    type: RollingUpdate
    rollingUpdate:
      maxSurge: {{ dig "maxSurge" 1 .values }}
      maxUnavailable: 0
  # Some failures occur only shortly after the start.
  minReadySeconds: 10
  template:
    metadata:
      labels:
        {{- merge (include "busgate.labels" . | fromYaml) .values.podLabels $root.Values.podLabels | toYaml | nindent 8 }}
      annotations:
        {{- include "busgate.settingsAnnotation" . | nindent 8 }}
        {{- with .values.podAnnotations }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
    spec:
      {{- include "busgate.pod" . | nindent 6 }}
{{- end -}}
