{{/* The Deployment of a role, whose scope it takes. */}}
{{- define "busgate.deployment" -}}
{{- $root := .root -}}
{{- $name := printf "%s-%s" (include "busgate.fullname" $root) .role -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  {{- include "busgate.metadata" . | nindent 2 }}
spec:
  {{- if eq (dig "autoscaling" "by" "none" .values) "none" }}
  replicas: {{ .values.replicas }}
  {{- else }}
  {{- with lookup "apps/v1" "Deployment" $root.Release.Namespace $name }}
  # As many as there are: where Helm took the number away, Kubernetes would stop all pods but one.
  replicas: {{ .spec.replicas }}
  {{- end }}
  {{- end }}
  selector:
    matchLabels:
      {{- include "busgate.selectorLabels" . | nindent 6 }}
  strategy:
    type: RollingUpdate
    rollingUpdate:
      maxSurge: {{ .values.maxSurge }}
      maxUnavailable: 0
  # Some failures show only right after the start.
  minReadySeconds: 10
  template:
    metadata:
      labels:
        {{- include "busgate.labels" . | nindent 8 }}
      annotations:
        {{- include "busgate.settingsAnnotation" . | nindent 8 }}
        {{- with .values.podAnnotations }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
    spec:
      {{- include "busgate.pod" . | nindent 6 }}
{{- end -}}
