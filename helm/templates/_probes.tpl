{{/*
Takes (dict "root" $ "role" "worker" "port" 9464).

/healthz says whether this process can go on at all: never that the bus, the registry or the gateway is down.
/readyz says whether it does its work now. For a receiver that is whether the Service may send it requests. No Service
asks a worker; its readiness is what a rollout and a drain of nodes wait for, and both must go on while the gateway
refuses a key and every account is held back. So the readiness of the others is that they are healthy. The start-up probe is
the same for all: a pod that cannot reach the bus or the registry with its new settings holds the rollout up.
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
  # Ten minutes; then another start may help.
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
