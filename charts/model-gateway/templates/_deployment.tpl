{{- /*
A process of the release.
  root, component     the chart's root context and the component's name
  values              its part of values.yaml
  replicas            how many; absent: an autoscaler decides. annotations: of the Deployment
  main                its entry in the image
  env                 its variables, as YAML
  ports               name → number; "admin" answers the probes unless "probes" names another
  graceSeconds        time for a graceful stop after SIGTERM
  preStopSeconds      how long it still receives requests after its pod began to stop
  recreate            stop the old pod before the new one starts
  account             its ServiceAccount; only then a token is mounted
*/ -}}
{{- define "mg.deployment" -}}
{{- $root := .root -}}
{{- $pod := include "mg.pod" . | fromYaml -}}
{{- $labels := dict "root" $root "component" .component "pod" $pod -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ include "mg.fullname" $root }}-{{ .component }}
  namespace: {{ $root.Release.Namespace }}
  labels: {{- include "mg.labels" $labels | nindent 4 }}
  {{- with .annotations }}
  annotations: {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  {{- if not (kindIs "invalid" .replicas) }}
  replicas: {{ .replicas }}
  {{- end }}
  revisionHistoryLimit: 5
  {{- if .recreate }}
  strategy: {type: Recreate}
  {{- else }}
  strategy: {rollingUpdate: {maxUnavailable: 0, maxSurge: 1}}
  {{- end }}
  selector:
    matchLabels: {{- include "mg.selectorLabels" $labels | nindent 6 }}
  template:
    metadata:
      labels:
        {{- include "mg.labels" $labels | nindent 8 }}
        {{- with .values.podLabels }}{{ toYaml . | nindent 8 }}{{ end }}
      {{- with merge (dict) (include "mg.secretsAnnotation" $root | fromYaml) .values.podAnnotations }}
      annotations: {{- toYaml . | nindent 8 }}
      {{- end }}
    spec:
      {{- if .account }}
      serviceAccountName: {{ .account }}
      {{- end }}
      automountServiceAccountToken: {{ if .account }}true{{ else }}false{{ end }}
      enableServiceLinks: false
      securityContext: {{- include "mg.podSecurityContext" . | nindent 8 }}
      terminationGracePeriodSeconds: {{ .graceSeconds }}
      {{- with $pod.hostAliases }}
      hostAliases: {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- include "mg.spread" $labels | nindent 6 }}
      {{- include "mg.placement" (dict "Values" $root.Values "component" .values) | nindent 6 }}
      {{- with $pod.initContainers }}
      initContainers: {{- toYaml . | nindent 8 }}
      {{- end }}
      containers:
        - name: {{ .component }}
          image: {{ include "mg.image" $root }}
          imagePullPolicy: {{ $root.Values.image.pullPolicy }}
          args: [{{ .main }}]
          securityContext: {{- include "mg.containerSecurityContext" . | nindent 12 }}
          env:
            {{- .env | trim | nindent 12 }}
            {{- include "mg.nodeOptions" .values | nindent 12 }}
            {{- with include "mg.caVariable" $root }}{{ . | nindent 12 }}{{ end }}
            - {name: LOG_LEVEL, value: {{ .values.logLevel | default $root.Values.logLevel }}}
            {{- range $name, $value := .values.env }}
            - {name: {{ $name }}, value: {{ include "mg.text" $value | quote }}}
            {{- end }}
            {{- with $pod.extraEnv }}{{ toYaml . | nindent 12 }}{{ end }}
          {{- with $pod.envFrom }}
          envFrom: {{- toYaml . | nindent 12 }}
          {{- end }}
          ports:
            {{- range $name, $port := .ports }}
            - {name: {{ $name }}, containerPort: {{ $port }}}
            {{- end }}
          {{- include "mg.probes" (dict "port" (.probes | default "admin") "pod" $pod) | trim | nindent 10 }}
          {{- with .preStopSeconds }}
          lifecycle:
            preStop: {sleep: {seconds: {{ . }}}}
          {{- end }}
          resources: {{- toYaml .values.resources | nindent 12 }}
          volumeMounts: {{- include "mg.volumeMounts" $labels | nindent 12 }}
        {{- with $pod.extraContainers }}{{ toYaml . | nindent 8 }}{{ end }}
      volumes: {{- include "mg.volumes" $labels | nindent 8 }}
{{- end -}}

{{- /* A Service of a process: root, component, ports (name → [port, target]), values.service */ -}}
{{- define "mg.service" -}}
{{- $labels := dict "root" .root "component" .component -}}
apiVersion: v1
kind: Service
metadata:
  name: {{ include "mg.fullname" .root }}-{{ .component }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    {{- include "mg.labels" $labels | nindent 4 }}
    {{- with dig "service" "labels" dict .values }}{{ toYaml . | nindent 4 }}{{ end }}
  {{- with dig "service" "annotations" dict .values }}
  annotations: {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  type: {{ dig "service" "type" "ClusterIP" .values }}
  {{- $service := .values.service | default dict }}
  {{- with omit $service "type" "annotations" "labels" "nodePort" }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
  selector: {{- include "mg.selectorLabels" $labels | nindent 4 }}
  ports:
    {{- range $name, $port := .ports }}
    - name: {{ $name }}
      port: {{ $port }}
      targetPort: {{ $name }}
      {{- with $service.nodePort }}
      nodePort: {{ . }}
      {{- end }}
    {{- end }}
{{- end -}}

{{- define "mg.disruptionBudget" -}}
{{- $labels := dict "root" .root "component" .component -}}
{{- $budget := (include "mg.pod" . | fromYaml).podDisruptionBudget -}}
{{- if $budget.enabled -}}
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ include "mg.fullname" .root }}-{{ .component }}
  namespace: {{ .root.Release.Namespace }}
  labels: {{- include "mg.labels" $labels | nindent 4 }}
spec:
  {{- if hasKey $budget "minAvailable" }}
  minAvailable: {{ $budget.minAvailable }}
  {{- else }}
  maxUnavailable: {{ dig "maxUnavailable" 1 $budget }}
  {{- end }}
  # A pod that does not get ready must not keep a node from being drained.
  unhealthyPodEvictionPolicy: AlwaysAllow
  selector:
    matchLabels: {{- include "mg.selectorLabels" $labels | nindent 6 }}
{{- end -}}
{{- end -}}
