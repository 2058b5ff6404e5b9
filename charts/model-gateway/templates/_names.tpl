{{- /* Names of objects: <release>-model-gateway-<component>, or <release>-<component> where the release is called so. */ -}}
{{- define "mg.fullname" -}}
{{- $chart := default .Chart.Name .Values.nameOverride -}}
{{- $name := ternary .Release.Name (printf "%s-%s" .Release.Name $chart) (contains $chart .Release.Name) -}}
{{- /* The longest addition is -prepare-database-<10 characters>, and a Job's name has at most 63. */ -}}
{{- include "mg.shortened" (dict "name" (.Values.fullnameOverride | default $name) "max" 35) -}}
{{- end -}}

{{- /* A name of at most max characters; a shortened one ends with a hash, so that no two names become one. */ -}}
{{- define "mg.shortened" -}}
{{- if gt (len .name) .max -}}
{{- printf "%s-%s" (trunc (sub .max 9 | int) .name | trimSuffix "-") (sha256sum .name | trunc 8) -}}
{{- else -}}
{{- .name | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- /* A value as text: of a number in a file, a template sees a float, which Go prints with an exponent. */ -}}
{{- define "mg.text" -}}
{{- if and (kindIs "float64" .) (eq (toString (int64 .) | float64) .) }}{{ int64 . }}{{ else }}{{ . }}{{ end -}}
{{- end -}}

{{- /* Cluster-wide objects carry the namespace, too: two releases may have one name in two namespaces. */ -}}
{{- define "mg.clusterName" -}}
{{- $fullname := include "mg.fullname" . -}}
{{- $name := ternary $fullname (printf "%s-%s" .Release.Namespace $fullname) (eq $fullname .Release.Namespace) -}}
{{- include "mg.shortened" (dict "name" $name "max" 50) -}}
{{- end -}}

{{- define "mg.selectorLabels" -}}
app.kubernetes.io/name: {{ default .root.Chart.Name .root.Values.nameOverride }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{- /* Labels of pods that a new version of the chart need not replace. */ -}}
{{- define "mg.lastingLabels" -}}
{{ include "mg.selectorLabels" . }}
{{- with .root.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "mg.labels" -}}
{{ include "mg.selectorLabels" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/part-of: model-gateway
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
{{- with .root.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "mg.image" -}}
{{- $image := .Values.image -}}
{{- if $image.digest -}}
{{ $image.repository }}@{{ $image.digest }}
{{- else -}}
{{ $image.repository }}:{{ include "mg.text" ($image.tag | default .Chart.AppVersion) }}
{{- end -}}
{{- end -}}

{{- /* Names an image tag as an object's name may: a Job of another image is another Job. */ -}}
{{- define "mg.imageId" -}}
{{- sha256sum (include "mg.image" .) | trunc 10 -}}
{{- end -}}

{{- define "mg.secretsName" -}}
{{- .Values.secrets.existingSecret | default (printf "%s-secrets" (include "mg.fullname" .)) -}}
{{- end -}}

{{- define "mg.operatorAccount" -}}
{{ include "mg.fullname" . }}-operator
{{- end -}}

{{- define "mg.operatorUser" -}}
system:serviceaccount:{{ .Release.Namespace }}:{{ include "mg.operatorAccount" . }}
{{- end -}}
