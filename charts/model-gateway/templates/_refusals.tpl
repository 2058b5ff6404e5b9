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
{{- if not (or $v.redis.host $v.redis.url.existingSecret) -}}
{{- fail "redis.host is not set. Set redis.host, or redis.url.existingSecret for a Redis without ACL users, or demo.enabled=true." -}}
{{- end -}}
{{- if and $v.redis.host (not $v.redis.url.existingSecret) $v.redis.users.create (not $v.redis.admin.existingSecret) -}}
{{- fail "redis.admin.existingSecret is not set. Set it to a Secret with the URL of a user who may use ACL, or redis.users.create=false and make the users yourself." -}}
{{- end -}}
{{- if and $v.payments.shopId (not $v.payments.existingSecret) -}}
{{- fail "payments.existingSecret is not set, but payments.shopId is. Set it to a Secret with the shop's secret key." -}}
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
{{- if and $v.gateway.autoscaling.enabled (gt (int $v.gateway.autoscaling.minReplicas) (int $v.gateway.autoscaling.maxReplicas)) -}}
{{- fail "gateway.autoscaling.minReplicas is above gateway.autoscaling.maxReplicas." -}}
{{- end -}}
{{- if and $v.gateway.autoscaling.enabled (ne (int $v.gateway.replicas) 2) -}}
{{- fail "gateway.replicas and gateway.autoscaling are both set. Set gateway.autoscaling.minReplicas instead of gateway.replicas." -}}
{{- end -}}
{{- if and $v.httpRoute.enabled (not $v.httpRoute.gateway.parentRefs) -}}
{{- fail "httpRoute.gateway.parentRefs is empty. Set it to the Gateway that the routes belong to." -}}
{{- end -}}
{{- if $v.operator.enabled -}}
{{- include "mg.refuseSharedNamespaces" . -}}
{{- end -}}
{{- end -}}
