{{/*
The pod spec of a role. Takes the role's scope. With `tasks`, a list of (dict "name" "doctor" "args" (list "doctor")), the pod
runs these commands one after the other with the role's settings, and ends.
*/}}
{{- define "busgate.pod" -}}
{{- $root := .root -}}
{{- $secretFiles := include "busgate.secretFiles" . | fromYaml -}}
{{- $certificates := include "busgate.certificates" . | fromYamlArray -}}
{{- if .tasks -}}
restartPolicy: Never
activeDeadlineSeconds: 240
{{- else -}}
terminationGracePeriodSeconds: {{ include "busgate.gracePeriod" $root }}
{{- end }}
{{- /* Before an install the chart's own ServiceAccount does not exist yet. */}}
{{- if not (and .tasks $root.Values.serviceAccount.create) }}
serviceAccountName: {{ include "busgate.serviceAccountName" $root }}
{{- end }}
automountServiceAccountToken: false
enableServiceLinks: false
{{- with $root.Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.priorityClassName | default $root.Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .values.nodeSelector | default $root.Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.tolerations | default $root.Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.affinity | default $root.Values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $root.Values.hostAliases }}
hostAliases:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $root.Values.dnsPolicy }}
dnsPolicy: {{ . }}
{{- end }}
{{- with $root.Values.dnsConfig }}
dnsConfig:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- if and (not .tasks) $root.Values.topologySpread.keys }}
topologySpreadConstraints:
  {{- range $root.Values.topologySpread.keys }}
  - topologyKey: {{ . }}
    maxSkew: 1
    whenUnsatisfiable: {{ $root.Values.topologySpread.whenUnsatisfiable }}
    labelSelector:
      matchLabels:
        {{- include "busgate.selectorLabels" $ | nindent 8 }}
    # Pods of the replaced version do not count.
    matchLabelKeys: [pod-template-hash]
  {{- end }}
{{- end }}
securityContext:
  runAsNonRoot: true
  {{- if $root.Values.fixedIds }}
  runAsUser: 1000
  runAsGroup: 1000
  fsGroup: 1000
  {{- end }}
  seccompProfile:
    type: RuntimeDefault
{{- $args := ternary (ternary (list "ui" "--reveal") (list "ui") (dig "reveal" false .values)) (list "run") (eq .role "ui") }}
{{- $tasks := .tasks | default (list (dict "name" .role "args" $args)) }}
{{- $before := ternary list $root.Values.extraInitContainers (hasKey . "tasks") }}
{{- if or $before (initial $tasks) }}
initContainers:
  {{- with $before }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
  {{- range initial $tasks }}
  {{- include "busgate.container" (merge . $) | nindent 2 }}
  {{- end }}
{{- end }}
containers:
  {{- include "busgate.container" (merge (last $tasks) .) | nindent 2 }}
  {{- if not .tasks }}
  {{- with $root.Values.extraContainers }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
  {{- end }}
volumes:
  - name: settings
    downwardAPI:
      items:
        - path: busgate.yaml
          fieldRef:
            fieldPath: metadata.annotations['busgate.yaml']
  {{- with values $secretFiles | uniq | sortAlpha }}
  - name: secrets
    secret:
      secretName: {{ $root.Values.existingSecret }}
      {{- /* A task names the missing file at once; a pod without its volume waits for its deadline and says nothing. */}}
      {{- if $.tasks }}
      optional: true
      {{- end }}
      defaultMode: 0440
      items:
        {{- range . }}
        - key: {{ . }}
          path: {{ . }}
        {{- end }}
  {{- end }}
  {{- range $certificates }}
  - name: {{ .name }}
    secret:
      secretName: {{ .secret }}
      {{- if $.tasks }}
      optional: true
      {{- end }}
      defaultMode: 0440
      items:
        {{- range .files }}
        - key: {{ .key }}
          path: {{ .key }}
        {{- end }}
  {{- end }}
  {{- with $root.Values.trustedCa }}
  {{- if .configMap }}
  - name: trusted-ca
    configMap:
      name: {{ .configMap }}
      {{- if $.tasks }}
      optional: true
      {{- end }}
      items:
        - key: {{ .key }}
          path: {{ .key }}
  {{- end }}
  {{- end }}
  {{- with $root.Values.extraVolumes }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end -}}

{{- define "busgate.container" -}}
{{- $root := .root -}}
{{- $metricsPort := dig "telemetry" "port" 9464 $root.Values.config -}}
- name: {{ .name }}
  {{- with $root.Values.image }}
  image: {{ ternary (printf "%s@%s" .repository .digest) (printf "%s:%s" .repository (.tag | default $root.Chart.AppVersion)) (ne .digest "") | quote }}
  {{- end }}
  imagePullPolicy: {{ $root.Values.image.pullPolicy }}
  args: {{ .args | toJson }}
  terminationMessagePolicy: FallbackToLogsOnError
  securityContext:
    allowPrivilegeEscalation: false
    readOnlyRootFilesystem: true
    capabilities:
      drop: [ALL]
  env:
    {{- range $variable, $value := include "busgate.env" . | fromYaml }}
    - name: {{ $variable }}
      value: {{ $value | quote }}
    {{- end }}
    {{- with $root.Values.extraEnv }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- with $root.Values.extraEnvFrom }}
  envFrom:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- if eq .role "ui" }}
  # The page listens only on the pod's loopback address, which kubectl port-forward reaches.
  startupProbe:
    exec:
      command: [node, -e, "fetch('http://127.0.0.1:9465/').then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
    periodSeconds: 5
    timeoutSeconds: 5
    failureThreshold: 120
  {{- else if not .tasks }}
  ports:
    {{- if eq .role "callbacks" }}
    - name: http
      containerPort: {{ dig "callbacks" "port" 8080 $root.Values.config }}
    {{- end }}
    - name: metrics
      containerPort: {{ $metricsPort }}
  {{- include "busgate.probes" (dict "root" $root "role" .role "port" $metricsPort) | nindent 2 }}
  {{- if eq .role "callbacks" }}
  lifecycle:
    preStop:
      exec:
        # Gives the Service time to stop sending requests here.
        command: [sleep, "5"]
  {{- end }}
  {{- end }}
  resources:
    {{- toYaml .values.resources | nindent 4 }}
  volumeMounts:
    - name: settings
      mountPath: /etc/busgate
      readOnly: true
    {{- if include "busgate.secretFiles" . | fromYaml }}
    - name: secrets
      mountPath: /run/secrets/busgate
      readOnly: true
    {{- end }}
    {{- range include "busgate.certificates" . | fromYamlArray }}
    - name: {{ .name }}
      mountPath: {{ .place }}
      readOnly: true
    {{- end }}
    {{- if $root.Values.trustedCa.configMap }}
    - name: trusted-ca
      mountPath: /etc/busgate-ca
      readOnly: true
    {{- end }}
    {{- with $root.Values.extraVolumeMounts }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end -}}

{{/*
The settings of a role, in an annotation of its pods, which mount it as a file: each ReplicaSet keeps its own settings. With a
ConfigMap, an old pod that is moved during a stuck rollout would get the new, perhaps wrong, settings. A ConfigMap with a hash
in its name would be deleted by Helm before the rollout has ended.
*/}}
{{- define "busgate.settingsAnnotation" -}}
{{- dict "busgate.yaml" (include "busgate.settings" .) | toYaml -}}
{{- end -}}
