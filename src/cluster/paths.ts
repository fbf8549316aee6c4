const ADMISSION = '/apis/admissionregistration.k8s.io/v1'

/** Where the apiserver keeps the configurations of mutating webhooks. */
export const WEBHOOK_CONFIGURATIONS = `${ADMISSION}/mutatingwebhookconfigurations`

/** And what puts validating admission policies into force. */
export const POLICY_BINDINGS = `${ADMISSION}/validatingadmissionpolicybindings`
