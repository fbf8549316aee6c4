{{/* The security context of a pod, which meets the Pod Security level `restricted`. */}}
{{- define "ridealong.podSecurityContext" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{- define "ridealong.securityContext" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end -}}

{{/* The common fields of the containers of hooks, which run the webhook's image once. */}}
{{- define "ridealong.hookContainer" -}}
resources:
  requests:
    cpu: 50m
    memory: 64Mi
  limits:
    memory: 256Mi
securityContext:
  {{- include "ridealong.securityContext" . | nindent 2 }}
{{- end -}}

{{- define "ridealong.hookPlacement" -}}
{{- with .Values.webhook.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.webhook.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}
