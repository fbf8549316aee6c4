{{/*
Returns the texts of the catalog documents, by name of the metric. In the documents of the built-in
metrics, only the image and the pull policy are replaced. The metrics of the values are added, and
replace built-in metrics of the same name. If the live export is on, each document without its own
`otlp` gets that of the values.
*/}}
{{- define "ridealong.documents" -}}
{{- $documents := dict -}}
{{- $image := .Values.observer.image -}}
{{- $otlp := .Values.observer.otlp | default dict -}}
{{- $lines := printf "    image: %s\n    imagePullPolicy: %s" (include "ridealong.image" (list . $image)) $image.pullPolicy -}}
{{- range $path, $_ := .Files.Glob "files/catalog/*.yaml" -}}
{{- $text := regexReplaceAllLiteral "(?m)^    image: .*$" ($.Files.Get $path) $lines -}}
{{- if $otlp.endpoint -}}
{{- $text = printf "%s\n  otlp: %s\n" ($text | trim) (toJson $otlp) -}}
{{- end -}}
{{- $_ := set $documents ($path | base | trimSuffix ".yaml") $text -}}
{{- end -}}
{{- range $name, $spec := .Values.catalog.metrics -}}
{{- $metadata := dict "name" $name -}}
{{- if and $otlp.endpoint (not (hasKey $spec "otlp")) -}}
{{- $spec = merge (dict "otlp" $otlp) $spec -}}
{{- end -}}
{{- $document := dict "apiVersion" "ridealong.dev/v1alpha1" "kind" "Metric" "metadata" $metadata "spec" $spec -}}
{{- $_ := set $documents $name (toYaml $document) -}}
{{- end -}}
{{- toYaml $documents -}}
{{- end -}}

{{/*
Returns the pull policy and the command for each image of the catalog. The command keeps the image
in use. Every version of the observer's image contains the program `hold`, so the command is correct
for any version that a metric of the values uses during an upgrade.
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
