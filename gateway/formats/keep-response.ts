/**
 * Stores a whole response, as the JSON that its client gets; `false`: it is not stored. Takes a second at most and never
 * fails.
 */
export type KeepResponse = (json: string, requestId: string) => Promise<boolean>
