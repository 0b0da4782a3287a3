{{/*
What busgate refuses of several settings together, as in src/config/cross-checks.ts and src/config/runnable.ts: a schema cannot
compare values. .ci/helm-generated.ts proves that they agree.
*/}}
{{- define "busgate.checks" -}}
{{- $config := .Values.config -}}
{{- $keys := .Values.secretKeys -}}
{{- $session := dig "kafka" "sessionTimeoutMs" 10000 $config | int -}}
{{- $answer := dig "gateway" "timeoutMs" 30000 $config | int -}}
{{- if ge (min $session 10000 | int) (add $answer (dig "doubts" "waitMs" 60000 $config | int) | int) -}}
{{- fail "config.gateway.timeoutMs + config.doubts.waitMs must be above config.kafka.sessionTimeoutMs (or 10000, if that is less): raise doubts.waitMs" -}}
{{- end -}}
{{- include "busgate.signInChecks" (dig "kafka" "sasl" dict $config) -}}
{{- if and $keys.registryToken (dig "registry" "username" "" $config) -}}
{{- fail "secretKeys.registryToken and config.registry.username exclude each other: set only one" -}}
{{- end -}}
{{- $topics := dig "topics" "commands" (list "busgate.commands.otp" "busgate.commands") $config -}}
{{- $names := $topics -}}
{{- range $use, $name := dict "results" "busgate.results" "statuses" "busgate.statuses" "deadLetters" "busgate.dead-letters" "doubts" "busgate.doubts" "control" "busgate.control" "history" "busgate.history" "later" "busgate.later" "overdue" "busgate.overdue" "workers" "busgate.workers" -}}
{{- $names = append $names (dig "topics" $use $name $config) -}}
{{- end -}}
{{- if lt (uniq $names | len) (len $names) }}{{ fail "config.topics: two topics have the same name; each needs its own" }}{{ end -}}
{{- if eq (dig "callbacks" "port" 8080 $config | int) (dig "telemetry" "port" 9464 $config | int) }}{{ fail "config.callbacks.port is also config.telemetry.port; a process needs two" }}{{ end -}}
{{- $quiet := list (dig "gateway" "quietHours" list $config) -}}
{{- range dig "gateway" "accounts" dict $config }}{{ $quiet = append $quiet (.quietHours | default list) }}{{ end -}}
{{- if and (eq (len $topics) 1) (compact $quiet) -}}
{{- fail "quietHours have no effect: config.topics.commands names one topic, and quiet hours do not apply to the most urgent one; add a second topic" -}}
{{- end -}}
{{- if lt (dig "commands" "maxInFlight" 1000000 $config | int) (mul 2 (dig "gateway" "maxOperations" 100 $config | int) | int) -}}
{{- fail "config.commands.maxInFlight must be at least 2 × config.gateway.maxOperations" -}}
{{- end -}}
{{- include "busgate.accountChecks" . -}}
{{- end -}}

{{/* Takes config.kafka.sasl. */}}
{{- define "busgate.signInChecks" -}}
{{- if eq (.mechanism | default "") "oauthbearer" -}}
{{- if not (and (hasKey . "tokenEndpoint") (hasKey . "clientId")) }}{{ fail "config.kafka.sasl.mechanism oauthbearer needs config.kafka.sasl.tokenEndpoint and .clientId" }}{{ end -}}
{{- else -}}
{{- if ne (hasKey . "mechanism") (hasKey . "username") }}{{ fail "config.kafka.sasl.mechanism and .username go together: give both or none" }}{{ end -}}
{{- range $key := list "tokenEndpoint" "clientId" "scope" "audience" "resource" "extensions" -}}
{{- if hasKey $ $key }}{{ fail (printf "config.kafka.sasl.%s goes with the mechanism oauthbearer, and with no other" $key) }}{{ end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "busgate.accountChecks" -}}
{{- $keys := .Values.secretKeys -}}
{{- $gateway := .Values.config.gateway -}}
{{- $accounts := dig "accounts" dict $gateway -}}
{{- $named := keys $keys.accountApiKeys -}}
{{- if not (or $keys.gatewayApiKey $named) }}{{ fail "secretKeys: set gatewayApiKey or accountApiKeys: no account has an API key" }}{{ end -}}
{{- if $keys.gatewayApiKey -}}
{{- if has "default" $named }}{{ fail "secretKeys.gatewayApiKey is the key of the account default, and so is secretKeys.accountApiKeys.default: give one of them" }}{{ end -}}
{{- $named = append $named "default" -}}
{{- end -}}
{{- range dig "sealing" "required" list .Values.config -}}
{{- if not $keys.sealingKeys }}{{ fail "config.sealing.required needs secretKeys.sealingKeys, without which no worker opens sealed content" }}{{ end -}}
{{- if not (has . $named) }}{{ fail (printf "config.sealing.required names %s, which has no key in secretKeys.accountApiKeys" .) }}{{ end -}}
{{- end -}}
{{- $rates := list -}}
{{- if hasKey $gateway "rate" }}{{ $rates = append $rates $gateway.rate }}{{ end -}}
{{- range $name, $account := $accounts -}}
{{- if and (or (hasKey $account "rate") (hasKey $account "quietHours")) (not (has $name $named)) -}}
{{- fail (printf "config.gateway.accounts.%s has a rate or quiet hours, but no key in secretKeys.accountApiKeys" $name) -}}
{{- end -}}
{{- if hasKey $account "rate" }}{{ $rates = append $rates $account.rate }}{{ end -}}
{{- end -}}
{{- if and .Values.reconciler.enabled $rates -}}
{{- $taken := dig "reconciler" "rate" 0 .Values.config | float64 -}}
{{- if not $taken }}{{ fail "config.reconciler.rate is required with reconciler.enabled, because its polls count against the rate of an account" }}{{ end -}}
{{- range $rates }}{{ if le (float64 .) $taken }}{{ fail "config.reconciler.rate must be below the rate of every account, or nothing is left to send with" }}{{ end }}{{ end -}}
{{- end -}}
{{- end -}}
