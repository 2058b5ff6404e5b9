{{- /* Contradictions between values, and how to fix them: values.schema.json checks one value at a time. */ -}}
{{- define "mg.refusals" -}}
{{- $v := .Values -}}
{{- if not $v.demo.enabled -}}
{{- if not $v.database.host -}}
{{- fail "database.host is not set. Set database.host and database.owner.existingSecret, or demo.enabled=true to try the gateway with a Postgres of its own." -}}
{{- end -}}
{{- if and $v.migrations.enabled (not $v.database.owner.existingSecret) -}}
{{- fail "database.owner.existingSecret is not set. Set it to a Secret with the owner's URL, or migrations.enabled=false and migrate the database yourself." -}}
{{- end -}}
{{- if eq $v.database.users.prefix "model_gateway" -}}
{{- fail "database.users.prefix is model_gateway, so the users would be the roles of the migrations. Set another prefix, for example mg." -}}
{{- end -}}
{{- $redisNodes := dig "cluster" "nodes" list $v.redis -}}
{{- if not (or $v.redis.host $redisNodes $v.redis.url.existingSecret) -}}
{{- fail "redis.host is not set. Set redis.host, redis.cluster.nodes for a cluster, redis.url.existingSecret for a Redis without ACL users, or demo.enabled=true." -}}
{{- end -}}
{{- if and $v.redis.host $redisNodes -}}
{{- fail "redis.host and redis.cluster.nodes are both set. Set redis.host for one server, or redis.cluster.nodes for a cluster." -}}
{{- end -}}
{{- if and (or $v.redis.host $redisNodes) (not $v.redis.url.existingSecret) $v.redis.users.create (not $v.redis.admin.existingSecret) -}}
{{- fail "redis.admin.existingSecret is not set. Set it to a Secret with the URL of a user who may use ACL, or redis.users.create=false and make the users yourself." -}}
{{- end -}}
{{- if and $v.payments.shopId (not $v.payments.existingSecret) -}}
{{- fail "payments.existingSecret is not set, but payments.shopId is. Set it to a Secret with the shop's secret key." -}}
{{- end -}}
{{- with $v.archive -}}
{{- if and .keptDays (not .existingSecret) -}}
{{- fail "archive.existingSecret is not set, but archive.keptDays is. Set it to a Secret with the URL of ClickHouse: without an archive, requests would be lost." -}}
{{- end -}}
{{- if and .keptDays (not (dig "copy" true .)) -}}
{{- fail "archive.keptDays is set, but archive.copy is false. Set archive.keptDays to 0: requests leave Postgres only while they are copied." -}}
{{- end -}}
{{- end -}}
{{- if and $v.mail.existingSecret (not $v.mail.from) -}}
{{- fail "mail.from is not set, but mail.existingSecret is. Set it to the sender of letters, for example Model Gateway <no-reply@example.com>." -}}
{{- end -}}
{{- end -}}
{{- if eq (include "mg.gatewayHost" .) (include "mg.cabinetHost" .) -}}
{{- if or $v.ingress.enabled $v.httpRoute.enabled -}}
{{- fail (printf "baseUrl and appUrl have one host, %s. Give the cabinet a host of its own: its cookies must not reach the gateway's." (include "mg.gatewayHost" .)) -}}
{{- end -}}
{{- end -}}
{{- if dig "administration" "enabled" false $v.ingress -}}
{{- if has (include "mg.administrationHost" .) (list (include "mg.gatewayHost" .) (include "mg.cabinetHost" .)) -}}
{{- fail (printf "administration.url has the host of baseUrl or appUrl, %s. Give administration a host of its own: its cookies must not reach other processes." (include "mg.administrationHost" .)) -}}
{{- end -}}
{{- end -}}
{{- if and $v.gateway.autoscaling.enabled (gt (int $v.gateway.autoscaling.minReplicas) (int $v.gateway.autoscaling.maxReplicas)) -}}
{{- fail "gateway.autoscaling.minReplicas is above gateway.autoscaling.maxReplicas." -}}
{{- end -}}
{{- $byDefault := ternary (dig "processes" "gateway" "replicas" 2 $v.demo) 2 $v.demo.enabled -}}
{{- if and $v.gateway.autoscaling.enabled (ne (int $v.gateway.replicas) (int $byDefault)) -}}
{{- fail "gateway.replicas and gateway.autoscaling are both set. Set gateway.autoscaling.minReplicas instead of gateway.replicas." -}}
{{- end -}}
{{- if and $v.httpRoute.enabled (not $v.httpRoute.gateway.parentRefs) -}}
{{- fail "httpRoute.gateway.parentRefs is empty. Set it to the Gateway that the routes belong to." -}}
{{- end -}}
{{- with $v.gateway.egressProxy -}}
{{- if and .url .existingSecret -}}
{{- fail "gateway.egressProxy.url and gateway.egressProxy.existingSecret are both set. Set one of them: a URL with a password belongs into the Secret." -}}
{{- end -}}
{{- end -}}
{{- include "mg.refuseHeapsAboveLimits" . -}}
{{- include "mg.refuseLostSecrets" . -}}
{{- include "mg.refuseUnbuiltImage" . -}}
{{- include "mg.refuseOtherServiceNetwork" . -}}
{{- if $v.operator.enabled -}}
{{- include "mg.refuseSharedNamespaces" . -}}
{{- end -}}
{{- end -}}

{{- /* A process whose heap may grow above its memory limit is killed instead of collecting garbage. */ -}}
{{- define "mg.refuseHeapsAboveLimits" -}}
{{- range $name := list "gateway" "cabinet" "administration" "webhook" "worker" "operator" -}}
{{- $values := index $.Values $name | default dict -}}
{{- $limit := dig "resources" "limits" "memory" "" $values | toString -}}
{{- $units := dict "Ki" 1024.0 "Mi" 1048576.0 "Gi" 1073741824.0 "Ti" 1099511627776.0 "k" 1e3 "M" 1e6 "G" 1e9 "T" 1e12 "" 1.0 -}}
{{- $unit := regexFind "[a-zA-Z]*$" $limit -}}
{{- if and $limit (hasKey $units $unit) -}}
{{- $mb := divf (mulf (trimSuffix $unit $limit | float64) (get $units $unit)) 1048576.0 -}}
{{- if ge (float64 $values.heapMb) $mb -}}
{{- fail (printf "%s.heapMb is %v, but %s.resources.limits.memory is %s. Set heapMb to about two thirds of the limit: a process needs memory outside of its heap, too." $name $values.heapMb $name $limit) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- /* Secrets that were made once are not made again in silence: with another pepper no key works. Without a cluster
(helm template) it cannot check. */ -}}
{{- define "mg.refuseLostSecrets" -}}
{{- if and .Release.IsUpgrade (not .Values.secrets.existingSecret) -}}
{{- $secret := include "mg.secretsName" . -}}
{{- if not (lookup "v1" "Secret" .Release.Namespace $secret) -}}
{{- range (lookup "batch/v1" "Job" .Release.Namespace "").items -}}
{{- $labels := .metadata.labels | default dict -}}
{{- $isOurs := and (eq (get $labels "app.kubernetes.io/instance") $.Release.Name) (eq (get $labels "app.kubernetes.io/component") "make-secrets") -}}
{{- if and $isOurs (dig "status" "succeeded" 0 .) -}}
{{- fail (printf "Secret %s/%s is lost: Job %s made it, and it is not there. Restore it from your copy (kubectl apply -f model-gateway-secrets.yaml) and upgrade again: without its KEY_PEPPER no API key works. If there is no copy, delete that Job; the upgrade then makes new secrets, and every API key must be replaced." $.Release.Namespace $secret .metadata.name) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}


{{- /* A published chart names its image by digest. The chart of a checkout names one that may never have been built, and
nothing can ask the registry; but nodes list the images that they have. Without a cluster (helm template) it cannot check. */ -}}
{{- define "mg.refuseUnbuiltImage" -}}
{{- $image := .Values.image -}}
{{- $isChosen := or $image.tag $image.digest (ne $image.repository "ghcr.io/model-gateway/model-gateway") -}}
{{- /* Only who may create objects of the whole cluster is sure to be allowed to list nodes. */ -}}
{{- $isAdmin := and .Values.operator.enabled .Values.crds.install -}}
{{- if and .Release.IsInstall $isAdmin (not $isChosen) -}}
{{- $wanted := include "mg.image" . -}}
{{- $nodes := (lookup "v1" "Node" "" "").items -}}
{{- $found := false -}}
{{- range $nodes -}}
{{- range dig "status" "images" list . -}}
{{- if has $wanted (.names | default list) -}}{{- $found = true -}}{{- end -}}
{{- end -}}
{{- end -}}
{{- if and $nodes (not $found) -}}
{{- fail (printf "No node has the image %s, and this chart is not a published one, so the image may not exist. Build it, push it to your registry, and set image.repository and image.tag. For kind, load it with kind load docker-image. If nodes can pull exactly this image, set image.tag=%s." $wanted .Chart.AppVersion) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- /* An IPv4 address as a number; of a network, its address. */ -}}
{{- define "mg.ipv4Number" -}}
{{- $number := 0 -}}
{{- range splitList "." (first (splitList "/" .)) }}{{ $number = add (mul $number 256) (int .) }}{{ end -}}
{{- $number -}}
{{- end -}}

{{- /* Gateways reach the demo provider through a Service, whose address is none of a pod. Without a cluster (helm
template), or with IPv6, it cannot check. */ -}}
{{- define "mg.refuseOtherServiceNetwork" -}}
{{- $api := lookup "v1" "Service" "default" "kubernetes" -}}
{{- $address := dig "spec" "clusterIP" "" $api -}}
{{- if and .Values.demo.enabled (regexMatch "^[0-9.]+$" $address) -}}
{{- $isWithin := false -}}
{{- range .Values.demo.podCidrs -}}
{{- if regexMatch "^[0-9.]+(/[0-9]+)?$" . -}}
{{- $size := 1 -}}
{{- range until (sub 32 (regexFind "[0-9]+$" (regexFind "/[0-9]+$" .) | default "32" | int) | int) }}{{ $size = mul $size 2 }}{{ end -}}
{{- if eq (div (include "mg.ipv4Number" . | int64) $size) (div (include "mg.ipv4Number" $address | int64) $size) -}}{{- $isWithin = true -}}{{- end -}}
{{- end -}}
{{- end -}}
{{- if not $isWithin -}}
{{- fail (printf "demo.podCidrs does not include the network of Services, which has %s here. Add it: gateways reach the demo provider through a Service, and would get address_refused." $address) -}}
{{- end -}}
{{- end -}}
{{- end -}}
