{{/*
Takes (dict "root" $ "role" "worker" "port" 9464).

/healthz says whether the process can work at all. It does not fail if the bus, the registry or the gateway is down.
/readyz says whether it works now; `started`, whether it has reached the bus and the registry. A worker or reconciler gets ready
once its gateway has accepted a key, and takes no partition before. So a rollout stops at the first pods whose settings do not
work, and the old pods keep all partitions. Later it stays ready through outages of the gateway.
Kubernetes puts what a failed exec probe prints into the pod's events, but only the status of a failed httpGet. Readiness of a
receiver decides where requests go, so it is checked more often, which must be cheap.
*/}}
{{- define "busgate.probes" -}}
startupProbe:
  {{- include "busgate.probe" (dict "root" .root "port" .port "asked" "started") | nindent 2 }}
  periodSeconds: 5
  timeoutSeconds: 5
  # Ten minutes, after which a restart may help.
  failureThreshold: 120
livenessProbe:
  httpGet:
    path: /healthz
    port: metrics
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 6
readinessProbe:
  {{- if eq .role "callbacks" }}
  httpGet:
    path: /readyz
    port: metrics
  periodSeconds: 5
  {{- else }}
  {{- include "busgate.probe" (dict "root" .root "port" .port "asked" "ready") | nindent 2 }}
  periodSeconds: 10
  {{- end }}
  timeoutSeconds: 5
{{- end -}}

{{/* A probe that prints why it fails. Takes (dict "root" $ "port" 9464 "asked" "started"). */}}
{{- define "busgate.probe" -}}
exec:
  command:
    - node
    - -e
    - |
      {{- .root.Files.Get "probes/probe.js" | trim | nindent 6 }}
    - {{ .port | toString | quote }}
    - {{ .asked }}
{{- end -}}
