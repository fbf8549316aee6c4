{{/*
The metrics by name, as documents: the program's own, with the image that is installed, then those of
the values.
*/}}
{{- define "ridealong.catalog" -}}
{{- $documents := dict -}}
{{- $image := .Values.observer.image -}}
{{- range $path, $_ := .Files.Glob "files/catalog/*.yaml" -}}
{{- $document := $.Files.Get $path | fromYaml -}}
{{- $_ := set $document.spec.container "image" (include "ridealong.image" (list $ $image)) -}}
{{- $_ := set $document.spec.container "imagePullPolicy" $image.pullPolicy -}}
{{- $_ := set $documents $document.metadata.name $document -}}
{{- end -}}
{{- range $name, $spec := .Values.catalog.metrics -}}
{{- $metadata := dict "name" $name -}}
{{- $_ := set $documents $name (dict "apiVersion" "ridealong.dev/v1alpha1" "kind" "Metric" "metadata" $metadata "spec" $spec) -}}
{{- end -}}
{{- toYaml $documents -}}
{{- end -}}

{{/* What keeps each image of the catalog in use: pull policy and command, by image. */}}
{{- define "ridealong.observerImages" -}}
{{- $images := dict -}}
{{- range $name, $document := include "ridealong.catalog" . | fromYaml -}}
{{- $container := $document.spec.container -}}
{{- $command := get $.Values.imageHolder.commandByMetric $name | default $.Values.imageHolder.command -}}
{{- $policy := default "IfNotPresent" $container.imagePullPolicy -}}
{{- $_ := set $images $container.image (dict "command" $command "pullPolicy" $policy) -}}
{{- end -}}
{{- toYaml $images -}}
{{- end -}}
