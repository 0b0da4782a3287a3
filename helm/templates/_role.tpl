{{/* What both roles have alike. Takes (dict "root" $ "role" "worker" "values" .Values.worker). */}}
{{- define "busgate.role" -}}
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ include "busgate.fullname" .root }}-{{ .role }}
  labels:
    {{- include "busgate.labels" . | nindent 4 }}
data:
  busgate.yaml: |
    {{- include "busgate.settings" . | nindent 4 }}
---
{{ include "busgate.deployment" . }}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ include "busgate.fullname" .root }}-{{ .role }}
  labels:
    {{- include "busgate.labels" . | nindent 4 }}
spec:
  maxUnavailable: {{ .values.maxUnavailable }}
  # Pods that are not ready, as while the bus is down, do not block the drain of a node.
  unhealthyPodEvictionPolicy: AlwaysAllow
  selector:
    matchLabels:
      {{- include "busgate.selectorLabels" . | nindent 6 }}
{{- end -}}
