{{/* The objects that all roles have. Takes a role's scope. */}}
{{- define "busgate.role" -}}
{{ include "busgate.deployment" . }}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  {{- include "busgate.metadata" . | nindent 2 }}
spec:
  maxUnavailable: {{ .values.pdb.maxUnavailable }}
  # Pods that are not ready, for example because they wait for the registry, do not block the drain of a node.
  unhealthyPodEvictionPolicy: AlwaysAllow
  selector:
    matchLabels:
      {{- include "busgate.selectorLabels" . | nindent 6 }}
{{- if or .root.Values.networkPolicy.enabled .root.Values.networkPolicy.metricsFrom }}
---
{{ include "busgate.networkPolicy" . }}
{{- end }}
{{- with .values.autoscaling }}
{{- if eq .by "lag" }}
---
{{ include "busgate.scaledObject" $ }}
{{- else if eq .by "cpu" }}
---
{{ include "busgate.horizontalPodAutoscaler" $ }}
{{- end }}
{{- end }}
---
{{ include "busgate.test" . }}
{{- if .root.Values.jobs.doctor }}
---
{{ include "busgate.doctorJob" . }}
{{- end }}
{{- end -}}
