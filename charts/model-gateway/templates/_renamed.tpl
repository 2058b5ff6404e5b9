{{- /*
Renamed values work under their old names until 0.3.0 (core/process/renamed.ts); names of objects and labels do not
change. A new name that was set takes precedence. One that is at its default counts as not set, because a template sees
no difference. In the same way a demo's processes get its own defaults. Each template that reads "demo" or "webhook" includes this first: the order of templates is up to Helm.
*/ -}}
{{- define "mg.renamedValues" -}}
{{- $defaults := .Files.Get "files/defaults.yaml" | fromYaml -}}
{{- with .Values.trial -}}
{{- $old := omit . "tillUrl" "demo" -}}
{{- with .tillUrl }}{{ $_ := set $old "testPaymentsUrl" . }}{{ end -}}
{{- with .demo }}{{ $_ := set $old "services" . }}{{ end -}}
{{- include "mg.moveOldValues" (dict "parent" $.Values "name" "demo" "old" $old "defaults" $defaults) -}}
{{- end -}}
{{- with .Values.receiver -}}
{{- include "mg.moveOldValues" (dict "parent" $.Values "name" "webhook" "old" . "defaults" $defaults) -}}
{{- end -}}
{{- range $name := list "ingress" "httpRoute" -}}
{{- $parent := index $.Values $name -}}
{{- with $parent.receiver -}}
{{- include "mg.moveOldValues" (dict "parent" $parent "name" "webhook" "old" . "defaults" (index $defaults $name)) -}}
{{- end -}}
{{- end -}}
{{- if .Values.demo.enabled -}}
{{- range $name, $ofDemo := .Values.demo.processes -}}
{{- include "mg.moveOldValues" (dict "parent" $.Values "name" $name "old" $ofDemo "defaults" $defaults) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- /* Sets parent.name to the old value: of a map, only what is not there or at its default. */ -}}
{{- define "mg.moveOldValues" -}}
{{- $default := index (.defaults | default dict) .name -}}
{{- $new := index .parent .name -}}
{{- if and (kindIs "map" .old) (kindIs "map" $new) -}}
{{- range $name, $old := .old -}}
{{- include "mg.moveOldValues" (dict "parent" $new "name" $name "old" $old "defaults" $default) -}}
{{- end -}}
{{- else if or (not (hasKey .parent .name)) (eq (toJson $new) (toJson $default)) -}}
{{- $_ := set .parent .name .old -}}
{{- end -}}
{{- end -}}

{{- /* The old names in use, each with its new one. Empty: none. */ -}}
{{- define "mg.oldValues" -}}
{{- $old := list -}}
{{- with .Values.trial -}}
{{- $old = append $old "trial is now demo" -}}
{{- if .tillUrl }}{{ $old = append $old "trial.tillUrl is now demo.testPaymentsUrl" }}{{ end -}}
{{- if .demo }}{{ $old = append $old "trial.demo is now demo.services" }}{{ end -}}
{{- end -}}
{{- if .Values.receiver }}{{ $old = append $old "receiver is now webhook" }}{{ end -}}
{{- if .Values.ingress.receiver }}{{ $old = append $old "ingress.receiver is now ingress.webhook" }}{{ end -}}
{{- if .Values.httpRoute.receiver }}{{ $old = append $old "httpRoute.receiver is now httpRoute.webhook" }}{{ end -}}
{{- join ", " $old -}}
{{- end -}}
