{{/*
Metadata of a Helm hook. Its object is kept until the next run, so that its log can be read. Takes a role's scope with the
name of the task, its hook and its weight.
*/}}
{{- define "busgate.hookMetadata" -}}
name: {{ include "busgate.fullname" .root | trunc 44 | trimSuffix "-" }}-{{ .role }}-{{ .task }}
labels:
  {{- include "busgate.taskLabels" . | nindent 2 }}
annotations:
  helm.sh/hook: {{ .hook }}
  helm.sh/hook-weight: {{ .weight | default 0 | quote }}
  helm.sh/hook-delete-policy: before-hook-creation
  # Needs Helm 3.18 or newer; with older versions use `kubectl logs`.
  helm.sh/hook-output-log-policy: hook-failed
{{- end -}}

{{/* No role label: a task's pod must not belong to the role's Service or PodDisruptionBudget. */}}
{{- define "busgate.taskLabels" -}}
{{- $component := dict "app.kubernetes.io/component" (printf "%s-task" .role) -}}
{{- merge (include "busgate.commonLabels" .root | fromYaml) $component .root.Values.podLabels | toYaml -}}
{{- end -}}

{{/* `helm test`. */}}
{{- define "busgate.test" -}}
{{- $scope := merge (dict "task" "test" "hook" "test" "tasks" (list (dict "name" "doctor" "args" (list "doctor")))) . -}}
apiVersion: v1
kind: Pod
metadata:
  {{- include "busgate.hookMetadata" $scope | nindent 2 }}
    {{- include "busgate.settingsAnnotation" . | nindent 4 }}
spec:
  {{- include "busgate.pod" $scope | nindent 2 }}
{{- end -}}

{{- define "busgate.job" -}}
apiVersion: batch/v1
kind: Job
metadata:
  {{- include "busgate.hookMetadata" . | nindent 2 }}
spec:
  backoffLimit: 0
  template:
    metadata:
      labels:
        {{- include "busgate.taskLabels" . | nindent 8 }}
      annotations:
        {{- include "busgate.settingsAnnotation" . | nindent 8 }}
    spec:
      {{- include "busgate.pod" . | nindent 6 }}
{{- end -}}

{{/* Before an upgrade. */}}
{{- define "busgate.doctorJob" -}}
{{- include "busgate.job" (merge (dict "task" "doctor" "hook" "pre-upgrade" "tasks" (list (dict "name" "doctor" "args" (list "doctor")))) .) -}}
{{- end -}}

{{/* Before an install or upgrade, and before the doctor. */}}
{{- define "busgate.setupJob" -}}
{{- $topics := dict "name" "topics" "args" (list "topics" "create") -}}
{{- $schemas := dict "name" "schemas" "args" (list "schemas" "register") -}}
{{- include "busgate.job" (merge (dict "task" "setup" "hook" "pre-install,pre-upgrade" "weight" -10 "tasks" (list $topics $schemas)) .) -}}
{{- end -}}
