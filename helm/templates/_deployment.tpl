{{/* The Deployment of a role. Takes (dict "root" $ "role" "worker" "values" .Values.worker). */}}
{{- define "busgate.deployment" -}}
{{- $root := .root -}}
{{- $secretFiles := include "busgate.secretFiles" . | fromYaml -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ include "busgate.fullname" $root }}-{{ .role }}
  labels:
    {{- include "busgate.labels" . | nindent 4 }}
spec:
  replicas: {{ .values.replicas }}
  selector:
    matchLabels:
      {{- include "busgate.selectorLabels" . | nindent 6 }}
  strategy:
    type: RollingUpdate
    rollingUpdate:
      maxSurge: 1
      maxUnavailable: 0
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
      securityContext:
        runAsNonRoot: true
        runAsUser: 1000
        runAsGroup: 1000
        fsGroup: 1000
        seccompProfile:
          type: RuntimeDefault
      containers:
        - name: {{ .role }}
          image: {{ printf "%s:%s" $root.Values.image.repository ($root.Values.image.tag | default $root.Chart.AppVersion) | quote }}
          imagePullPolicy: {{ $root.Values.image.pullPolicy }}
          securityContext:
            allowPrivilegeEscalation: false
            readOnlyRootFilesystem: true
            capabilities:
              drop: [ALL]
          env:
            - name: BUSGATE_CONFIG
              value: /etc/busgate/busgate.yaml
            - name: BUSGATE_ROLES
              value: {{ .role }}
            {{- range $variable, $key := $secretFiles }}
            - name: {{ $variable }}
              value: /run/secrets/busgate/{{ $key }}
            {{- end }}
            {{- with .values.nodeOptions }}
            - name: NODE_OPTIONS
              value: {{ . | quote }}
            {{- end }}
          ports:
            {{- if eq .role "callbacks" }}
            - name: http
              containerPort: {{ dig "callbacks" "port" 8080 $root.Values.config }}
            {{- end }}
            - name: metrics
              containerPort: {{ dig "telemetry" "port" 9464 $root.Values.config }}
          # A process that does not answer at all, or has said that only a restart helps. Not a bus that is down.
          livenessProbe:
            httpGet:
              path: /healthz
              port: metrics
            initialDelaySeconds: 10
            periodSeconds: 10
            timeoutSeconds: 5
            failureThreshold: 6
          readinessProbe:
            httpGet:
              path: /readyz
              port: metrics
            periodSeconds: 5
            timeoutSeconds: 5
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
{{- end -}}
