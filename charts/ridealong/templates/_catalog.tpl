{{/*
The metrics by name, each the text of a document: the program's own, word by word but for the image
that is installed, then those of the values.
*/}}
{{- define "ridealong.documents" -}}
{{- $documents := dict -}}
{{- $image := .Values.observer.image -}}
{{- $lines := printf "    image: %s\n    imagePullPolicy: %s" (include "ridealong.image" (list . $image)) $image.pullPolicy -}}
{{- range $path, $_ := .Files.Glob "files/catalog/*.yaml" -}}
{{- $text := regexReplaceAllLiteral "(?m)^    image: .*$" ($.Files.Get $path) $lines -}}
{{- $_ := set $documents ($path | base | trimSuffix ".yaml") $text -}}
{{- end -}}
{{- range $name, $spec := .Values.catalog.metrics -}}
{{- $metadata := dict "name" $name -}}
{{- $document := dict "apiVersion" "ridealong.dev/v1alpha1" "kind" "Metric" "metadata" $metadata "spec" $spec -}}
{{- $_ := set $documents $name (toYaml $document) -}}
{{- end -}}
{{- toYaml $documents -}}
{{- end -}}

{{/*
What keeps each image of the catalog in use: pull policy and command, by image. Every version of the
observer's image has the program `hold`: before or after an upgrade, a metric of the values may have
another version.
*/}}
{{- define "ridealong.observerImages" -}}
{{- $images := dict -}}
{{- $own := printf "%s/%s" .Values.observer.image.registry .Values.observer.image.repository -}}
{{- range $name, $text := include "ridealong.documents" . | fromYaml -}}
{{- $container := (fromYaml $text).spec.container -}}
{{- $isOwn := or (hasPrefix (print $own ":") $container.image) (hasPrefix (print $own "@") $container.image) -}}
{{- $usual := $isOwn | ternary (list "hold") $.Values.imageHolder.command -}}
{{- $command := get $.Values.imageHolder.commandByMetric $name | default $usual -}}
{{- $policy := default "IfNotPresent" $container.imagePullPolicy -}}
{{- $_ := set $images $container.image (dict "command" $command "pullPolicy" $policy) -}}
{{- end -}}
{{- toYaml $images -}}
{{- end -}}

{{/*
What the catalog's observers run, as variables of a ValidatingAdmissionPolicy: maps by the metric's
name. A string of JSON is a string of CEL.
*/}}
{{- define "ridealong.catalogInCel" -}}
{{- $images := dict -}}
{{- $commands := dict -}}
{{- $args := dict -}}
{{- range $name, $text := include "ridealong.documents" . | fromYaml -}}
{{- $container := (fromYaml $text).spec.container -}}
{{- $_ := set $images $name $container.image -}}
{{- $_ := set $commands $name (default list $container.command) -}}
{{- $_ := set $args $name (default list $container.args) -}}
{{- end -}}
- name: images
  expression: {{ toJson $images | quote }}
- name: commands
  expression: {{ toJson $commands | quote }}
- name: args
  expression: {{ toJson $args | quote }}
{{- end -}}
