{{/*
Returns the catalog documents as text, by name of the metric. The documents of the built-in metrics
are unchanged except for the image and the pull policy. The metrics of the values are added after
them.
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
Returns the pull policy and the command that keep each image of the catalog in use, by image. Every
version of the observer's image has the program `hold`. During an upgrade, a metric of the values
may still use another version.
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
Returns the images, commands and args of the catalog's observers, as variables of a
ValidatingAdmissionPolicy. Each variable is a map by name of the metric. JSON strings are also valid
in CEL.
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
