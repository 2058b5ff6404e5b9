{{- /*
A Job of this release and image: another image or other settings make another Job, since a Job cannot be changed.
  root, component, main, arguments, env; account: its ServiceAccount; deadlineSeconds: by default that of migrations
*/ -}}
{{- define "mg.job" -}}
{{- $root := .root -}}
{{- $labels := dict "root" $root "component" .component -}}
{{- $spec := include "mg.jobSpec" . -}}
apiVersion: batch/v1
kind: Job
metadata:
  name: {{ include "mg.fullname" $root }}-{{ .component }}-{{ sha256sum $spec | trunc 10 }}
  namespace: {{ $root.Release.Namespace }}
  labels: {{- include "mg.labels" $labels | nindent 4 }}
spec: {{- $spec | nindent 2 }}
{{- end -}}

{{- define "mg.jobSpec" -}}
{{- $root := .root -}}
{{- $ofPod := dict "root" $root "values" $root.Values.migrations -}}
{{- $pod := include "mg.pod" $ofPod | fromYaml -}}
{{- $_ := set $ofPod "pod" $pod -}}
backoffLimit: 6
activeDeadlineSeconds: {{ .deadlineSeconds | default $root.Values.migrations.activeDeadlineSeconds }}
template:
  metadata:
    labels: {{- include "mg.selectorLabels" (dict "root" $root "component" .component) | nindent 6 }}
    {{- with include "mg.secretsAnnotation" $root }}
    annotations: {{- . | nindent 6 }}
    {{- end }}
  spec:
    restartPolicy: OnFailure
    {{- with .account }}
    serviceAccountName: {{ . }}
    {{- end }}
    automountServiceAccountToken: {{ if .account }}true{{ else }}false{{ end }}
    enableServiceLinks: false
    securityContext: {{- include "mg.podSecurityContext" $ofPod | nindent 6 }}
    {{- include "mg.placement" (dict "Values" $root.Values "component" $root.Values.migrations) | nindent 4 }}
    {{- with $pod.hostAliases }}
    hostAliases: {{- toYaml . | nindent 6 }}
    {{- end }}
    containers:
      - name: {{ .component }}
        image: {{ include "mg.image" $root }}
        imagePullPolicy: {{ $root.Values.image.pullPolicy }}
        args: {{ prepend (.arguments | default list) .main | toJson }}
        securityContext: {{- include "mg.containerSecurityContext" $ofPod | nindent 10 }}
        env:
          {{- .env | trim | nindent 10 }}
          {{- with include "mg.caVariable" $root }}{{ . | nindent 10 }}{{ end }}
          {{- with $pod.extraEnv }}{{ toYaml . | nindent 10 }}{{ end }}
        {{- with $pod.envFrom }}
        envFrom: {{- toYaml . | nindent 10 }}
        {{- end }}
        resources: {{- toYaml $root.Values.migrations.resources | nindent 10 }}
        volumeMounts: {{- include "mg.volumeMounts" $ofPod | nindent 10 }}
    volumes: {{- include "mg.volumes" $ofPod | nindent 6 }}
{{- end -}}
