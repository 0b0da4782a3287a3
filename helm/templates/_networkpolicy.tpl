{{/* The NetworkPolicy of a role. Takes its scope. */}}
{{- define "busgate.networkPolicy" -}}
{{- $config := .root.Values.config -}}
{{- $policy := .root.Values.networkPolicy -}}
{{- $brokerPorts := $policy.brokers.ports -}}
{{- if not $brokerPorts -}}
{{- range $config.kafka.brokers -}}
{{- $brokerPorts = append $brokerPorts (regexFind "[0-9]+$" .) | uniq -}}
{{- end -}}
{{- end -}}
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  {{- include "busgate.metadata" . | nindent 2 }}
spec:
  podSelector:
    matchLabels:
      {{- include "busgate.releaseLabels" .root | nindent 6 }}
    matchExpressions:
      - { key: app.kubernetes.io/component, operator: In, values: [{{ .role }}, {{ .role }}-task] }
  policyTypes: [Ingress{{ if $policy.enabled }}, Egress{{ end }}]
  {{- if eq .role "ui" }}
  ingress: []
  {{- else }}
  ingress:
    - ports:
        - { protocol: TCP, port: metrics }
      {{- with $policy.metricsFrom }}
      from:
        {{- toYaml . | nindent 8 }}
      {{- end }}
  {{- end }}
    {{- if eq .role "callbacks" }}
    - ports:
        - { protocol: TCP, port: http }
      {{- with $policy.callbacksFrom }}
      from:
        {{- toYaml . | nindent 8 }}
      {{- end }}
    {{- end }}
  {{- if $policy.enabled }}
  egress:
    # DNS
    - ports:
        - { protocol: UDP, port: 53 }
        - { protocol: TCP, port: 53 }
    {{- include "busgate.egress" (dict "name" "brokers" "ports" $brokerPorts "to" $policy.brokers.to) | nindent 4 }}
    {{- include "busgate.egress" (dict "name" "registry" "ports" (list (include "busgate.portOf" $config.registry.url)) "to" $policy.registry.to) | nindent 4 }}
    {{- with dig "kafka" "sasl" "tokenEndpoint" "" $config }}
    {{- include "busgate.egress" (dict "name" "token endpoint" "ports" (list (include "busgate.portOf" .)) "to" $policy.tokenEndpoint.to) | nindent 4 }}
    {{- end }}
    {{- if not (has .role (list "callbacks" "ui")) }}
    {{- include "busgate.egress" (dict "name" "gateway" "ports" (list (include "busgate.portOf" $config.gateway.url)) "to" $policy.gateway.to) | nindent 4 }}
    {{- end }}
  {{- end }}
{{- end -}}

{{- define "busgate.egress" -}}
# {{ .name }}
- ports:
    {{- range .ports }}
    - { protocol: TCP, port: {{ . }} }
    {{- end }}
  {{- with .to }}
  to:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end -}}

{{- define "busgate.portOf" -}}
{{- $url := urlParse . -}}
{{- regexFind ":[0-9]+$" $url.host | trimPrefix ":" | default (ternary "443" "80" (eq (lower $url.scheme) "https")) -}}
{{- end -}}
