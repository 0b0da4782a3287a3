{{/* The Deployment of a role, whose scope it takes. */}}
{{- define "busgate.deployment" -}}
{{- $root := .root -}}
{{- $secretFiles := include "busgate.secretFiles" . | fromYaml -}}
{{- $certificates := include "busgate.certificates" . | fromYamlArray -}}
{{- $metricsPort := dig "telemetry" "port" 9464 $root.Values.config -}}
{{- $scaled := dig "autoscaling" "by" "none" .values -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  {{- include "busgate.metadata" . | nindent 2 }}
spec:
  {{- if eq $scaled "none" }}
  replicas: {{ .values.replicas }}
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
        checksum/settings: {{ include "busgate.settings" . | sha256sum }}
        {{- with .values.podAnnotations }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
    spec:
      serviceAccountName: {{ include "busgate.serviceAccountName" $root }}
      automountServiceAccountToken: false
      enableServiceLinks: false
      terminationGracePeriodSeconds: {{ include "busgate.gracePeriod" $root }}
      {{- with $root.Values.imagePullSecrets }}
      imagePullSecrets:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $root.Values.priorityClassName }}
      priorityClassName: {{ . }}
      {{- end }}
      {{- with $root.Values.nodeSelector }}
      nodeSelector:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $root.Values.tolerations }}
      tolerations:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $root.Values.affinity }}
      affinity:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $root.Values.topologySpread.keys }}
      topologySpreadConstraints:
        {{- range . }}
        - topologyKey: {{ . }}
          maxSkew: 1
          whenUnsatisfiable: {{ $root.Values.topologySpread.whenUnsatisfiable }}
          labelSelector:
            matchLabels:
              {{- include "busgate.selectorLabels" $ | nindent 14 }}
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
      containers:
        - name: {{ .role }}
          {{- with $root.Values.image }}
          image: {{ ternary (printf "%s@%s" .repository .digest) (printf "%s:%s" .repository (.tag | default $root.Chart.AppVersion)) (ne .digest "") | quote }}
          {{- end }}
          imagePullPolicy: {{ $root.Values.image.pullPolicy }}
          args: [run]
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
            {{- toYaml . | nindent 12 }}
            {{- end }}
          ports:
            {{- if eq .role "callbacks" }}
            - name: http
              containerPort: {{ dig "callbacks" "port" 8080 $root.Values.config }}
            {{- end }}
            - name: metrics
              containerPort: {{ $metricsPort }}
          {{- include "busgate.probes" (dict "root" $root "role" .role "port" $metricsPort) | nindent 10 }}
          {{- if eq .role "callbacks" }}
          lifecycle:
            preStop:
              exec:
                # Until the Service has stopped sending requests here.
                command: [sleep, "5"]
          {{- end }}
          resources:
            {{- toYaml .values.resources | nindent 12 }}
          volumeMounts:
            - name: settings
              mountPath: /etc/busgate
              readOnly: true
            - name: secrets
              mountPath: /run/secrets/busgate
              readOnly: true
            {{- range $certificates }}
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
            {{- toYaml . | nindent 12 }}
            {{- end }}
      volumes:
        - name: settings
          configMap:
            name: {{ include "busgate.fullname" $root }}-{{ .role }}
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
        {{- toYaml . | nindent 8 }}
        {{- end }}
{{- end -}}

{{/*
Takes (dict "root" $ "role" "worker" "port" 9464).

/healthz says whether this process can go on at all: never that the bus, the registry or the gateway is down.
/readyz says whether it does its work now. For a receiver that is whether the Service may send it requests. No Service
asks a worker; its readiness is what a rollout and a drain of nodes wait for, and both must go on while the gateway
refuses a key and every account pauses. So the readiness of the others is that they have started, which the start-up
probe waits for, and are healthy: a pod that cannot reach the bus or the registry with its new settings holds the
rollout up.
*/}}
{{- define "busgate.probes" -}}
{{- $ready := ternary "/readyz" "/healthz" (eq .role "callbacks") -}}
startupProbe:
  {{- if eq .role "callbacks" }}
  httpGet:
    path: /healthz
    port: metrics
  {{- else }}
  exec:
    command:
      - node
      - -e
      - |
        {{- .root.Files.Get "probes/started.js" | trim | nindent 8 }}
      - {{ .port | toString | quote }}
  {{- end }}
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
