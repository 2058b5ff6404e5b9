{{- /* The namespaces whose ApiKeys this release manages; an empty list: all. */ -}}
{{- define "mg.keyNamespaces" -}}
{{- with .Values.operator.namespaces }}{{ concat (list $.Release.Namespace) . | uniq | toJson }}{{ else }}[]{{ end -}}
{{- end -}}

{{- /* Those and the namespaces of its routes and providers: all that its operator looks at. */ -}}
{{- define "mg.watchedNamespaces" -}}
{{- $ofKeys := include "mg.keyNamespaces" . | fromJsonArray -}}
{{- if $ofKeys }}{{ concat $ofKeys .Values.operator.routes.namespaces | uniq | toJson }}{{ else }}[]{{ end -}}
{{- end -}}

{{- /* Where a policy judges: what another release manages is not its business. */ -}}
{{- define "mg.judgedNamespaces" -}}
{{- with . }}
  matchResources:
    namespaceSelector:
      matchExpressions: [{key: kubernetes.io/metadata.name, operator: In, values: {{ toJson . }}}]
{{- end }}
{{- end -}}

{{- /* Rejects namespaces that another release in the cluster manages. Without a cluster (helm template) it
cannot check. */ -}}
{{- define "mg.refuseSharedNamespaces" -}}
{{- $ours := include "mg.watchedNamespaces" . | fromJsonArray -}}
{{- range (lookup "admissionregistration.k8s.io/v1" "ValidatingAdmissionPolicyBinding" "" "").items -}}
{{- $isOfOperator := eq (dig "labels" "modelgateway.dev/policy" "" .metadata) "mirrors" -}}
{{- $release := dig "annotations" "meta.helm.sh/release-name" "" .metadata -}}
{{- $namespace := dig "annotations" "meta.helm.sh/release-namespace" "" .metadata -}}
{{- $isOurs := and (eq $release $.Release.Name) (eq $namespace $.Release.Namespace) -}}
{{- if and $isOfOperator (not $isOurs) (ne .metadata.name (printf "%s-mirrors" (include "mg.clusterName" $))) -}}
{{- $theirs := list -}}
{{- range dig "matchResources" "namespaceSelector" "matchExpressions" list .spec }}{{ $theirs = concat $theirs .values }}{{ end -}}
{{- $other := ternary (printf "release %s in namespace %s" $release $namespace) .metadata.name (ne $release "") -}}
{{- if not $theirs -}}
{{- fail (printf "operator.namespaces must be set in both releases: %s manages all namespaces. Upgrade that one first, with operator.namespaces set." $other) -}}
{{- end -}}
{{- if not $ours -}}
{{- fail (printf "operator.namespaces is not set, but %s is in this cluster, too. Set it to namespaces that the other does not manage." $other) -}}
{{- end -}}
{{- range $ours -}}
{{- if has . $theirs -}}
{{- fail (printf "Namespace %s belongs to %s. Leave it out of operator.namespaces and operator.routes.namespaces, and install this release into a namespace of its own." . $other) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
