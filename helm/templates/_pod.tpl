{{/*
The pod of a role, whose scope it takes, as a spec. With `tasks`, a list of (dict "name" "doctor" "args" (list "doctor")),
it runs these commands one after the other, as the role would be run, and ends.
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
{{- /* Before an install the chart's own account is not there yet. */}}
{{- if not (and .tasks $root.Values.serviceAccount.create) }}
serviceAccountName: {{ include "busgate.serviceAccountName" $root }}
{{- end }}
automountServiceAccountToken: false
enableServiceLinks: false
{{- with $root.Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $root.Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with $root.Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $root.Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $root.Values.affinity }}
affinity:
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
    # Pods of the version that is being replaced do not count.
    matchLabelKeys: [pod-template-hash]
  {{- end }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 1000
  runAsGroup: 1000
  fsGroup: 1000
  seccompProfile:
    type: RuntimeDefault
{{- $tasks := .tasks | default (list (dict "name" .role "args" (list "run"))) }}
{{- with initial $tasks }}
initContainers:
  {{- range . }}
  {{- include "busgate.container" (merge . $) | nindent 2 }}
  {{- end }}
{{- end }}
containers:
  {{- include "busgate.container" (merge (last $tasks) .) | nindent 2 }}
volumes:
  - name: settings
    downwardAPI:
      items:
        - path: busgate.yaml
          fieldRef:
            fieldPath: metadata.annotations['busgate.yaml']
  - name: secrets
    secret:
      secretName: {{ $root.Values.existingSecret }}
      defaultMode: 0440
      items:
        {{- range $key := values $secretFiles | uniq | sortAlpha }}
        - key: {{ $key }}
          path: {{ $key }}
        {{- end }}
  {{- range $certificates }}
  - name: {{ .name }}
    secret:
      secretName: {{ .secret }}
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
  {{- if not .tasks }}
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
        # Until the Service has stopped sending requests here.
        command: [sleep, "5"]
  {{- end }}
  {{- end }}
  resources:
    {{- toYaml .values.resources | nindent 4 }}
  volumeMounts:
    - name: settings
      mountPath: /etc/busgate
      readOnly: true
    - name: secrets
      mountPath: /run/secrets/busgate
      readOnly: true
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
The settings of a role, in an annotation of its pods, which find them as a file: each ReplicaSet keeps its own. Of a
ConfigMap, an old pod that is moved while a rollout stands still would get the new, perhaps wrong, settings; and one with
the settings' hash in its name is deleted by Helm before the rollout has ended.
*/}}
{{- define "busgate.settingsAnnotation" -}}
{{- dict "busgate.yaml" (include "busgate.settings" .) | toYaml -}}
{{- end -}}
