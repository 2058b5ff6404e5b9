/** Errors when receipts cannot be read. Never a 401. The gateway uses the first one, too. */
export const receiptMessages = {
  unavailable: 'Receipts are temporarily unavailable; model requests are not affected. Retry in a second.',
  failed: 'The receipt could not be read because of an internal error. Contact support with the request id.',
}
