/** The type of a detail among `reasoning_details` that only the gateway can read, until it is decrypted. */
export const encryptedDetail = 'gateway.encrypted'
