{{/*
Returns the texts of the catalog documents, by name of the metric. In the documents of the built-in
metrics, only the images and the pull policies are replaced. Built-in metrics with a tool are left
out unless the values offer them, so that nodes do not keep an image that no pod needs. With image
volumes, the tool is mounted from the folder `tool/NAME` of its image. Fails if the cluster is too
old for image volumes.
The metrics of the values are added, and replace built-in metrics of the same name. If the live
export is on, each document without its own `otlp` gets that of the values.
*/}}
{{- define "ridealong.documents" -}}
{{- $documents := dict -}}
{{- $image := .Values.observer.image -}}
{{- $otlp := .Values.observer.otlp | default dict -}}
{{- $tools := .Values.tools -}}
{{- $lines := include "ridealong.imageLines" (list . $image 4) -}}
{{- range $path, $_ := .Files.Glob "files/catalog/*.yaml" -}}
{{- $name := $path | base | trimSuffix ".yaml" -}}
{{- $text := regexReplaceAllLiteral "(?m)^    image: .*$" ($.Files.Get $path) $lines -}}
{{- $isOffered := has $name $tools.metrics -}}
{{- if $isOffered -}}
{{- $lines := include "ridealong.imageLines" (list $ $tools.image 6) -}}
{{- if $tools.imageVolumes -}}
{{- $volume := printf "    imageVolume:\n%s\n" $lines -}}
{{- $text = regexReplaceAllLiteral "(?m)^    installer:\n(      .*\n)+" $text $volume -}}
{{- $text = $text | replace (printf "subPath: %s-tool" $name) (printf "subPath: tool/%s" $name) -}}
{{- else -}}
{{- $text = regexReplaceAllLiteral "(?m)^      image: .*$" $text $lines -}}
{{- end -}}
{{- end -}}
{{- if $otlp.endpoint -}}
{{- $text = printf "%s\n  otlp: %s\n" ($text | trim) (toJson $otlp) -}}
{{- end -}}
{{- if or $isOffered (not (fromYaml $text).spec.tool) -}}
{{- $_ := set $documents $name $text -}}
{{- end -}}
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
Returns the names of the metrics whose tools are mounted from their image, joined by commas.
*/}}
{{- define "ridealong.mountedMetrics" -}}
{{- $names := list -}}
{{- range $name, $text := include "ridealong.documents" . | fromYaml -}}
{{- if ((fromYaml $text).spec.tool | default dict).imageVolume -}}
{{- $names = append $names $name -}}
{{- end -}}
{{- end -}}
{{- $names | sortAlpha | join "," -}}
{{- end -}}

{{/*
Fails if a metric has an image volume, and the cluster is too old for image volumes. Its apiserver
would refuse the pods that request the metric.
*/}}
{{- define "ridealong.checkImageVolumes" -}}
{{- range $name := include "ridealong.mountedMetrics" . | splitList "," | compact -}}
{{- if semverCompare "<1.35.0-0" $.Capabilities.KubeVersion.Version -}}
{{- $source := hasKey $.Values.catalog.metrics $name | ternary (printf "catalog.metrics.%s.tool.imageVolume" $name) "tools.imageVolumes" -}}
{{- fail (printf "%s: image volumes need Kubernetes 1.35 or later, but the version is %s; use an installer, or set --kube-version if there is no cluster" $source $.Capabilities.KubeVersion.Version) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/*
Returns the names of the metrics that every namespace can request, joined by commas: those with the
privilege `restricted` and without a tool.
*/}}
{{- define "ridealong.openMetrics" -}}
{{- $names := list -}}
{{- range $name, $text := include "ridealong.documents" . | fromYaml -}}
{{- $spec := (fromYaml $text).spec -}}
{{- if and (not $spec.tool) (eq $spec.privilege "restricted") -}}
{{- $names = append $names $name -}}
{{- end -}}
{{- end -}}
{{- $names | sortAlpha | join "," -}}
{{- end -}}

{{/*
Returns the catalog document with the default metrics. Fails if a namespace could not request them.
*/}}
{{- define "ridealong.defaultsDocument" -}}
{{- $valid := include "ridealong.openMetrics" . | splitList "," -}}
{{- range .Values.catalog.defaults -}}
{{- if not (has . $valid) -}}
{{- fail (printf "catalog.defaults: %q is not a metric of the catalog with the privilege restricted and without a tool; valid names are %s" . (join ", " $valid)) -}}
{{- end -}}
{{- end -}}
apiVersion: ridealong.dev/v1alpha1
kind: Defaults
spec:
  metrics: {{ .Values.catalog.defaults | default list | toJson }}
{{- end -}}

{{/*
Returns the value of the annotation ridealong.dev/inject for an example.
*/}}
{{- define "ridealong.exampleRequest" -}}
{{- empty .Values.catalog.defaults | ternary (include "ridealong.openMetrics" .) "true" -}}
{{- end -}}

{{/*
Takes a list: the root, an image's values, a number of spaces. Returns the lines of a catalog
document with the image and its pull policy.
*/}}
{{- define "ridealong.imageLines" -}}
{{- $image := index . 1 -}}
{{- $indent := repeat (index . 2) " " -}}
{{- $name := include "ridealong.image" (list (index . 0) $image) -}}
{{- $policy := default "IfNotPresent" $image.pullPolicy -}}
{{- printf "%simage: %s\n%simagePullPolicy: %s" $indent $name $indent $policy -}}
{{- end -}}

{{/*
Returns the pull policy and the command for each image of the catalog: of the observers, and of the
tools. The command keeps the image in use. Every version of the observer's image and of the image of
the built-in tools contains the program `hold`, so the command is correct for any version that a
metric of the values uses during an upgrade.
*/}}
{{- define "ridealong.observerImages" -}}
{{- $images := dict -}}
{{- $own := list -}}
{{- range list .Values.observer.image .Values.tools.image -}}
{{- $own = append $own (printf "%s/%s" .registry .repository) -}}
{{- end -}}
{{- range $name, $text := include "ridealong.documents" . | fromYaml -}}
{{- $spec := (fromYaml $text).spec -}}
{{- $tool := $spec.tool | default dict -}}
{{- range compact (list $spec.container $tool.installer $tool.imageVolume) -}}
{{- $repository := regexReplaceAll "(@[^@]*|:[^:/]*)+$" .image "" -}}
{{- $usual := has $repository $own | ternary (list "hold") $.Values.imageHolder.command -}}
{{- $command := get $.Values.imageHolder.commandByMetric $name | default $usual -}}
{{- $policy := default "IfNotPresent" .imagePullPolicy -}}
{{- $_ := set $images .image (dict "command" $command "pullPolicy" $policy) -}}
{{- end -}}
{{- end -}}
{{- toYaml $images -}}
{{- end -}}

{{/*
Returns the images, commands and args of the catalog's observers and of the installers of their
tools, the images of the tools that are mounted from an image, and the paths at which a target has
the folders of a tool, as variables of a ValidatingAdmissionPolicy. Each variable is a map by name
of the metric. JSON strings are also valid in CEL.
*/}}
{{- define "ridealong.catalogInCel" -}}
{{- $images := dict -}}
{{- $commands := dict -}}
{{- $args := dict -}}
{{- $installers := dict -}}
{{- $volumes := dict -}}
{{- $files := dict -}}
{{- $results := dict -}}
{{- range $name, $text := include "ridealong.documents" . | fromYaml -}}
{{- $container := (fromYaml $text).spec.container -}}
{{- with (fromYaml $text).spec.tool -}}
{{- with .installer -}}
{{- $words := list (list .image) (default list .command) (default list .args) -}}
{{- $_ := set $installers $name $words -}}
{{- end -}}
{{- with .imageVolume -}}
{{- $_ := set $volumes $name .image -}}
{{- end -}}
{{- $mounts := list -}}
{{- range .mounts -}}
{{- $mounts = append $mounts .mountPath -}}
{{- end -}}
{{- $_ := set $files $name $mounts -}}
{{- $_ := set $results $name .results.mountPath -}}
{{- end -}}
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
- name: installers
  expression: {{ toJson $installers | quote }}
- name: imageVolumes
  expression: {{ toJson $volumes | quote }}
- name: files
  expression: {{ toJson $files | quote }}
- name: results
  expression: {{ toJson $results | quote }}
{{- end -}}
