{{/* Takes (dict "root" $ "values" .Values.podMonitor). */}}
{{- define "busgate.monitorMetadata" -}}
name: {{ include "busgate.fullname" .root }}
labels:
  {{- include "busgate.commonLabels" .root | nindent 2 }}
  {{- with .values.labels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end -}}

{{/* The endpoint of a monitor, from its values. */}}
{{- define "busgate.scrape" -}}
- port: metrics
  interval: {{ .interval }}
  {{- with .scrapeTimeout }}
  {{- if gt (include "busgate.milliseconds" . | int) (include "busgate.milliseconds" $.interval | int) }}{{ fail "scrapeTimeout must not be above interval: the Prometheus operator would ignore the monitor" }}{{ end }}
  scrapeTimeout: {{ . }}
  {{- end }}
  {{- with .relabelings }}
  relabelings:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .metricRelabelings }}
  metricRelabelings:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end -}}

{{/* Of a duration such as 30s. */}}
{{- define "busgate.milliseconds" -}}
{{- regexFind "^[0-9]+" . | int | mul (get (dict "ms" 1 "s" 1000 "m" 60000) (regexFind "[a-z]+$" .)) -}}
{{- end -}}
