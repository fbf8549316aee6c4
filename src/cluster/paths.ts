const ADMISSION = '/apis/admissionregistration.k8s.io/v1'

/** The path of the MutatingWebhookConfigurations. */
export const WEBHOOK_CONFIGURATIONS = `${ADMISSION}/mutatingwebhookconfigurations`

/** The path of the ValidatingAdmissionPolicyBindings, which put validating policies into force. */
export const POLICY_BINDINGS = `${ADMISSION}/validatingadmissionpolicybindings`
