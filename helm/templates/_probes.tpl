{{/*
Takes (dict "root" $ "role" "worker" "port" 9464).

/healthz says whether the process can work at all. It does not fail if the bus, the registry or the gateway is down.
/readyz says whether it works now. A receiver uses it as readiness, so that the Service sends requests only to working pods.
A worker gets no requests from a Service. Only rollouts and drains of nodes wait for its readiness, and they must not stop
while the gateway refuses a key. So the other roles use /healthz as readiness. All roles have the same start-up probe: a pod
that cannot reach the bus or the registry with its new settings stops the rollout.
*/}}
{{- define "busgate.probes" -}}
{{- $ready := ternary "/readyz" "/healthz" (eq .role "callbacks") -}}
startupProbe:
  exec:
    command:
      - node
      - -e
      - |
        {{- .root.Files.Get "probes/started.js" | trim | nindent 8 }}
      - {{ .port | toString | quote }}
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
  httpGet:
    path: {{ $ready }}
    port: metrics
  periodSeconds: 5
  timeoutSeconds: 5
{{- end -}}
