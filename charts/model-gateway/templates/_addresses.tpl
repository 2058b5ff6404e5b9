{{- define "mg.gatewayHost" -}}{{ (urlParse .Values.baseUrl).hostname }}{{- end -}}
{{- define "mg.cabinetHost" -}}{{ (urlParse .Values.appUrl).hostname }}{{- end -}}
{{- define "mg.administrationHost" -}}{{ (urlParse .Values.administration.url).hostname }}{{- end -}}

{{- /* Streaming settings of the common ingress controllers: no buffering, and time for the longest request. */ -}}
{{- define "mg.streamingAnnotations" -}}
nginx.ingress.kubernetes.io/proxy-buffering: "off"
nginx.ingress.kubernetes.io/proxy-request-buffering: "off"
nginx.ingress.kubernetes.io/proxy-read-timeout: {{ .seconds | quote }}
nginx.ingress.kubernetes.io/proxy-send-timeout: {{ .seconds | quote }}
nginx.ingress.kubernetes.io/proxy-body-size: 33m
nginx.org/proxy-buffering: "false"
nginx.org/proxy-read-timeout: {{ printf "%vs" .seconds | quote }}
haproxy.org/timeout-server: {{ printf "%vs" .seconds | quote }}
{{- end -}}

{{- define "mg.ingress" -}}
{{- $root := .root -}}
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: {{ include "mg.fullname" $root }}-{{ .component }}
  namespace: {{ $root.Release.Namespace }}
  labels: {{- include "mg.labels" (dict "root" $root "component" .component) | nindent 4 }}
  {{- with merge (dict) .ingress.annotations .annotations }}
  annotations: {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  {{- with .ingress.className }}
  ingressClassName: {{ . }}
  {{- end }}
  {{- with .ingress.tlsSecret }}
  tls: [{hosts: [{{ $.host }}], secretName: {{ . }}}]
  {{- end }}
  rules:
    - host: {{ .host }}
      http:
        paths:
          - path: {{ .path }}
            pathType: Prefix
            backend: {service: {name: {{ include "mg.fullname" $root }}-{{ .component }}, port: {name: http}}}
{{- end -}}

{{- define "mg.httpRoute" -}}
{{- $root := .root -}}
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata:
  name: {{ include "mg.fullname" $root }}-{{ .component }}
  namespace: {{ $root.Release.Namespace }}
  labels: {{- include "mg.labels" (dict "root" $root "component" .component) | nindent 4 }}
  {{- with .route.annotations }}
  annotations: {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  parentRefs: {{- toYaml .route.parentRefs | nindent 4 }}
  hostnames: [{{ .host | quote }}]
  rules:
    - matches: [{path: {type: PathPrefix, value: {{ .path }}}}]
      {{- with .seconds }}
      timeouts: {request: {{ . }}s, backendRequest: {{ . }}s}
      {{- end }}
      backendRefs: [{name: {{ include "mg.fullname" $root }}-{{ .component }}, port: 80}]
{{- end -}}
