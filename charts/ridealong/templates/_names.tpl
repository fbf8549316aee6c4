{{- define "ridealong.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{/*
The name has at most 40 characters. The suffixes of object names have at most 16 characters, and the
suffix of a DaemonSet's pod has 6, so no name has more than 63 characters.
*/}}
{{- define "ridealong.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else if contains (include "ridealong.name" .) .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "ridealong.name" .) | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/*
The name of the webhook configuration. The default has a prefix that sorts after the names of other
configurations, and the name of the release, so that each release has its own.
*/}}
{{- define "ridealong.configurationName" -}}
{{- .Values.webhook.configurationName | default (printf "zz-%s" (include "ridealong.fullname" .)) -}}
{{- end -}}

{{/*
Takes a list: the root, the component. Returns the labels of selectors, which must not change during
the life of a release.
*/}}
{{- define "ridealong.selectorLabels" -}}
{{- $root := index . 0 -}}
app.kubernetes.io/name: {{ include "ridealong.name" $root }}
app.kubernetes.io/instance: {{ $root.Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end -}}

{{/* Takes a list: the root, the component. */}}
{{- define "ridealong.labels" -}}
{{- $root := index . 0 -}}
{{ include "ridealong.selectorLabels" . }}
app.kubernetes.io/version: {{ $root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ $root.Release.Service }}
app.kubernetes.io/part-of: ridealong
helm.sh/chart: {{ printf "%s-%s" $root.Chart.Name $root.Chart.Version | replace "+" "_" }}
{{- with $root.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* Takes a list: the root, an image's values. */}}
{{- define "ridealong.image" -}}
{{- $root := index . 0 -}}
{{- $image := index . 1 -}}
{{- $name := printf "%s/%s" $image.registry $image.repository -}}
{{- if $image.digest -}}
{{- printf "%s@%s" $name $image.digest -}}
{{- else -}}
{{- printf "%s:%s" $name (default $root.Chart.AppVersion $image.tag) -}}
{{- end -}}
{{- end -}}

{{- define "ridealong.tlsSecret" -}}
{{- if eq .Values.certificates.mode "cert-manager" -}}
{{- include "ridealong.fullname" . }}-tls
{{- else if eq .Values.certificates.mode "self" -}}
{{- include "ridealong.fullname" . }}-own-tls
{{- else -}}
{{- required "certificates.provided.secretName: set the name of the Secret with the webhook's certificate" .Values.certificates.provided.secretName -}}
{{- end -}}
{{- end -}}

{{/* The DNS names of the Service, as a YAML list. The apiserver uses the first name. */}}
{{- define "ridealong.hosts" -}}
{{- $service := printf "%s.%s" (include "ridealong.fullname" .) .Release.Namespace -}}
{{- toYaml (list (printf "%s.svc" $service) $service (printf "%s.svc.cluster.local" $service)) -}}
{{- end -}}

{{/* The namespaces for which the webhook is never called. */}}
{{- define "ridealong.excludedAlways" -}}
{{- toYaml (list "kube-system" "kube-public" "kube-node-lease" .Release.Namespace | uniq) -}}
{{- end -}}

{{- define "ridealong.excluded" -}}
{{- toYaml (concat (include "ridealong.excludedAlways" . | fromYamlArray) .Values.excludedNamespaces | uniq) -}}
{{- end -}}

{{- define "ridealong.serviceAccount" -}}
system:serviceaccount:{{ .Release.Namespace }}:{{ include "ridealong.fullname" . }}
{{- end -}}

{{/* Takes a YAML list of namespaces. Returns a selector requirement that excludes them. */}}
{{- define "ridealong.notIn" -}}
- key: kubernetes.io/metadata.name
  operator: NotIn
  values:
    {{- . | nindent 4 }}
{{- end -}}

{{/*
Returns a selector requirement that selects the namespaces of this release: those with the label of
its revision, or for the default release, those without the label.
*/}}
{{- define "ridealong.ofRevision" -}}
- key: ridealong.dev/revision
  {{- if .Values.revision }}
  operator: In
  values: [{{ .Values.revision | quote }}]
  {{- else }}
  operator: DoesNotExist
  {{- end }}
{{- end -}}

{{/* Returns `true` if the webhook scans for pods without their observers, otherwise ''. */}}
{{- define "ridealong.scans" -}}
{{- if and .Values.guard.enabled .Values.guard.scan.enabled -}}
true
{{- end -}}
{{- end -}}
