/** APIs besides chat completions that both clients and providers speak. */
export type RelayedApi = 'responses' | 'messages'
