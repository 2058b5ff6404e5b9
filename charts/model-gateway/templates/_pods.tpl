{{- /* Settings of a pod, as YAML: those of every pod, and over them its own in `values`. */ -}}
{{- define "mg.pod" -}}
{{- /* `helm upgrade --reuse-values` has none of them for a release that is older than they are. */ -}}
{{- $defaults := .root.Values.podDefaults | default (.root.Files.Get "files/defaults.yaml" | fromYaml).podDefaults -}}
{{- $pod := deepCopy $defaults -}}
{{- range $name, $value := .values | default dict -}}
{{- if and (hasKey $defaults $name) (kindIs "map" $value) -}}
{{- $_ := set $pod $name (mergeOverwrite (deepCopy (get $defaults $name | default dict)) $value) -}}
{{- else if and (hasKey $defaults $name) $value -}}
{{- $_ := set $pod $name $value -}}
{{- end -}}
{{- end -}}
{{- toYaml $pod -}}
{{- end -}}

{{- /* securityContext of a pod of the chart's own image: root, values */ -}}
{{- define "mg.podSecurityContext" -}}
{{- toYaml (include "mg.pod" . | fromYaml).securityContext -}}
{{- end -}}

{{- define "mg.containerSecurityContext" -}}
{{- toYaml (include "mg.pod" . | fromYaml).containerSecurityContext -}}
{{- end -}}

{{- /* One variable from a Secret. */ -}}
{{- define "mg.secretVariable" -}}
- name: {{ .name }}
  valueFrom: {secretKeyRef: {name: {{ .secret | quote }}, key: {{ .key | quote }}{{ if .optional }}, optional: true{{ end }}}}
{{- end -}}

{{- /* A variable of the release's own secrets, under its own name. */ -}}
{{- define "mg.ownSecret" -}}
{{ include "mg.secretVariable" (dict "name" .name "secret" (include "mg.secretsName" .root) "key" (.key | default .name)) }}
{{- end -}}

{{- /* Another revision of the secrets replaces pods: processes that read the secrets again, and Jobs that set
passwords in the stores. */ -}}
{{- define "mg.secretsAnnotation" -}}
{{- with .Values.secrets.revision -}}
modelgateway.dev/secrets-revision: {{ include "mg.text" . | quote }}
{{- end -}}
{{- end -}}

{{- define "mg.databaseHost" -}}
{{- if .Values.demo.enabled -}}{{ include "mg.fullname" . }}-trial-postgres{{- else -}}{{ .Values.database.host }}{{- end -}}
{{- end -}}

{{- define "mg.databaseParameters" -}}
{{- if not .Values.demo.enabled -}}{{- with .Values.database.parameters -}}?{{ . }}{{- end -}}{{- end -}}
{{- end -}}

{{- /* With the namespace: a server may have the users of two releases of one name. */ -}}
{{- define "mg.databaseUserPrefix" -}}
{{- $name := printf "%s_%s" .Release.Namespace (include "mg.fullname" .) | replace "-" "_" -}}
{{- $short := printf "%s_%s" (trunc 31 $name) (sha256sum $name | trunc 8) -}}
{{- .Values.database.users.prefix | default (ternary $short $name (gt (len $name) 40)) -}}
{{- end -}}

{{- /* DATABASE_URL of a process, as a user who has the permissions of its role and no more. */ -}}
{{- define "mg.databaseUrl" -}}
{{- $root := .root -}}
{{- $users := $root.Values.database.users -}}
{{- $key := printf "DATABASE_PASSWORD_%s" (upper .role) -}}
{{ include "mg.secretVariable" (dict "name" "DATABASE_PASSWORD" "secret" ($users.existingSecret | default (include "mg.secretsName" $root)) "key" $key "optional" .optional) }}
- name: DATABASE_URL
  value: {{ printf "postgres://%s_%s:$(DATABASE_PASSWORD)@%s:%v/%s%s" (include "mg.databaseUserPrefix" $root) .role (include "mg.databaseHost" $root) ($root.Values.demo.enabled | ternary 5432 $root.Values.database.port) ($root.Values.demo.enabled | ternary "model_gateway" $root.Values.database.name) (include "mg.databaseParameters" $root) | quote }}
{{- end -}}

{{- /* DATABASE_URL as the owner: only Jobs have it. */ -}}
{{- define "mg.databaseOwnerUrl" -}}
{{- if .Values.demo.enabled -}}
{{ include "mg.ownSecret" (dict "root" . "name" "DATABASE_PASSWORD" "key" "TRIAL_DATABASE_PASSWORD") }}
- name: DATABASE_URL
  value: postgres://model_gateway:$(DATABASE_PASSWORD)@{{ include "mg.databaseHost" . }}:5432/model_gateway
{{- else -}}
{{ include "mg.secretVariable" (dict "name" "DATABASE_URL" "secret" .Values.database.owner.existingSecret "key" .Values.database.owner.existingSecretKey) }}
{{- end -}}
{{- end -}}

{{- define "mg.redisHost" -}}
{{- if .Values.demo.enabled -}}{{ include "mg.fullname" . }}-trial-redis{{- else -}}{{ .Values.redis.host }}{{- end -}}
{{- end -}}

{{- /* Host and port of each node that processes are given. */ -}}
{{- define "mg.redisNodes" -}}
{{- $redis := .Values.redis -}}
{{- $nodes := list -}}
{{- if .Values.demo.enabled -}}
{{- $nodes = list (printf "%s:6379" (include "mg.redisHost" .)) -}}
{{- else if dig "cluster" "nodes" list $redis -}}
{{- range $redis.cluster.nodes -}}
{{- $nodes = append $nodes (regexMatch ":[0-9]+$" . | ternary . (printf "%s:%v" . $redis.port)) -}}
{{- end -}}
{{- else -}}
{{- $nodes = list (printf "%s:%v" $redis.host $redis.port) -}}
{{- end -}}
{{- toJson $nodes -}}
{{- end -}}

{{- /* REDIS_URL of a process: as its own user, or as the only one that a managed Redis has. */ -}}
{{- define "mg.redisUrl" -}}
{{- $root := .root -}}
{{- $redis := $root.Values.redis -}}
{{- if and $redis.url.existingSecret (not $root.Values.demo.enabled) -}}
{{ include "mg.secretVariable" (dict "name" "REDIS_URL" "secret" $redis.url.existingSecret "key" $redis.url.existingSecretKey) }}
{{- else -}}
{{ include "mg.secretVariable" (dict "name" "REDIS_PASSWORD" "secret" ($redis.users.existingSecret | default (include "mg.secretsName" $root)) "key" (printf "REDIS_PASSWORD_%s" (upper .user))) }}
{{- $scheme := and $redis.tls (not $root.Values.demo.enabled) | ternary "rediss" "redis" -}}
{{- $urls := list -}}
{{- range include "mg.redisNodes" $root | fromJsonArray -}}
{{- $urls = append $urls (printf "%s://model_gateway_%s:$(REDIS_PASSWORD)@%s" $scheme $.user .) -}}
{{- end }}
- name: REDIS_URL
  value: {{ join "," $urls | quote }}
{{- end -}}
{{- end -}}

{{- /* UPSTREAM_ALLOWED_CIDRS: private networks of providers. In a demo, also those of pods, since its provider is one. */ -}}
{{- define "mg.upstreamAllowedCidrs" -}}
{{- $cidrs := .Values.gateway.upstreamAllowedCidrs -}}
{{- if .Values.demo.enabled }}{{ $cidrs = concat $cidrs .Values.demo.podCidrs }}{{ end -}}
{{- with $cidrs -}}
- {name: UPSTREAM_ALLOWED_CIDRS, value: {{ join "," . | quote }}}
{{- end -}}
{{- end -}}

{{- /* The shop: the demo's test payment provider, or YooKassa's. Empty if payments are not configured. */ -}}
{{- define "mg.shop" -}}
{{- if .Values.demo.enabled -}}
- {name: YOOKASSA_SHOP_ID, value: "100500"}
{{ include "mg.ownSecret" (dict "root" . "name" "YOOKASSA_SECRET_KEY" "key" "TRIAL_SHOP_SECRET_KEY") }}
- {name: YOOKASSA_URL, value: "http://{{ include "mg.fullname" . }}-trial-services:3002/v3"}
{{- else if .Values.payments.shopId -}}
- {name: YOOKASSA_SHOP_ID, value: {{ include "mg.text" .Values.payments.shopId | quote }}}
{{ include "mg.secretVariable" (dict "name" "YOOKASSA_SECRET_KEY" "secret" .Values.payments.existingSecret "key" .Values.payments.existingSecretKey) }}
{{- range $name, $value := .Values.payments.env }}
- {name: {{ $name }}, value: {{ include "mg.text" $value | quote }}}
{{- end }}
{{- end -}}
{{- end -}}

{{- /* The shop without its secret, for the cabinet, which records payments and does not call the provider. */ -}}
{{- define "mg.shopTerms" -}}
{{- if .Values.demo.enabled -}}
- {name: YOOKASSA_SHOP_ID, value: "100500"}
{{- else if .Values.payments.shopId -}}
- {name: YOOKASSA_SHOP_ID, value: {{ include "mg.text" .Values.payments.shopId | quote }}}
{{- range $name, $value := .Values.payments.env }}
- {name: {{ $name }}, value: {{ include "mg.text" $value | quote }}}
{{- end }}
{{- end -}}
{{- end -}}

{{- /* Who gets a trial: the cabinet grants it, the worker measures it. */ -}}
{{- define "mg.trialCredit" -}}
- {name: TRIAL_GRANT, value: {{ .Values.trialCredit.grant | quote }}}
- {name: TRIAL_DAILY_RUB, value: {{ .Values.trialCredit.dailyRub | int64 | quote }}}
{{- end -}}

{{- /* The archive: the worker writes it, the cabinet and administration read requests that left Postgres. */ -}}
{{- define "mg.archive" -}}
{{- with .Values.archive -}}
{{- if .existingSecret }}
{{ include "mg.secretVariable" (dict "name" "CLICKHOUSE_URL" "secret" .existingSecret "key" .existingSecretKey) }}
{{- end -}}
{{- end -}}
{{- end -}}

{{- /* For processes that must trust a private authority: of Postgres, Redis, providers, the payment provider. */ -}}
{{- define "mg.caVariable" -}}
{{- if .Values.caCertificates.existingSecret -}}
- {name: NODE_EXTRA_CA_CERTS, value: /etc/model-gateway/ca/{{ .Values.caCertificates.existingSecretKey }}}
{{- end -}}
{{- end -}}

{{- define "mg.nodeOptions" -}}
{{- /* Below the memory limit, because buffers are outside the heap. */ -}}
- name: NODE_OPTIONS
  value: --max-old-space-size={{ .heapMb }}
- {name: NODE_ENV, value: production}
{{- end -}}

{{- define "mg.volumeMounts" -}}
- {name: tmp, mountPath: /tmp}
{{- if .root.Values.caCertificates.existingSecret }}
- {name: ca, mountPath: /etc/model-gateway/ca, readOnly: true}
{{- end }}
{{- with .pod.volumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "mg.volumes" -}}
- name: tmp
  emptyDir: {sizeLimit: 64Mi}
{{- if .root.Values.caCertificates.existingSecret }}
- name: ca
  secret: {secretName: {{ .root.Values.caCertificates.existingSecret | quote }}}
{{- end }}
{{- with .pod.volumes }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "mg.pullSecrets" -}}
{{- with .Values.image.pullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- /* Where the cluster's operator wants pods to run. */ -}}
{{- define "mg.placement" -}}
{{- include "mg.pullSecrets" . }}
{{- with .component.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .component.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .component.affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .component.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- end -}}

{{- /* Replicas of one ReplicaSet over zones, then over hosts; a cluster of one node is no error. */ -}}
{{- define "mg.spread" -}}
topologySpreadConstraints:
{{- with .pod.topologySpreadConstraints }}
{{ toYaml . | indent 2 }}
{{- else }}
{{- range list "topology.kubernetes.io/zone" "kubernetes.io/hostname" }}
  - maxSkew: 1
    topologyKey: {{ . }}
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels: {{- include "mg.selectorLabels" $ | nindent 8 }}
    matchLabelKeys: [pod-template-hash]
{{- end }}
{{- end }}
{{- end -}}

{{- /* A probe per question: has it started, may it be asked, does it still run. */ -}}
{{- define "mg.probes" -}}
{{- $of := dict
  "startupProbe" (dict "path" "/livez" "periodSeconds" 1 "failureThreshold" 120)
  "readinessProbe" (dict "path" "/readyz" "periodSeconds" 2 "timeoutSeconds" 2 "failureThreshold" 2)
  "livenessProbe" (dict "path" "/livez" "periodSeconds" 10 "timeoutSeconds" 5 "failureThreshold" 3)
-}}
{{- range $name := list "startupProbe" "readinessProbe" "livenessProbe" }}
{{- $probe := get $of $name }}
{{- $probe = merge (dict "httpGet" (dict "path" $probe.path "port" $.port)) (omit $probe "path") }}
{{ $name }}: {{- mergeOverwrite $probe (get $.pod $name) | toYaml | nindent 2 }}
{{- end }}
{{- end -}}
