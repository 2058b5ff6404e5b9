/** Errors when stored responses cannot be read. Never a 401. The gateway uses the first one, too. */
export const responseMessages = {
  unavailable:
    'Stored responses are temporarily unavailable; requests that refer to none are not affected. Retry in a second.',
  failed:
    'The stored response could not be read because of an internal error. Contact support with the request id.',
}
