import { navigate } from 'wouter/use-browser-location'
import { asProblem } from '../api/problem.ts'
import { queryClient } from '../api/query-client.ts'
import { call, useRead } from './calls.ts'

/** The signed-in administrator. Without one, a page of administration leads to the sign-in. */
export function useMe() {
  return useRead('/me')
}

/** Ends the session and forgets everything read in it. @throws ApiProblem if the session continues */
export async function signOut(): Promise<void> {
  try {
    await call('POST /auth/logout')
  } catch (error) {
    if (asProblem(error).code !== 'unauthenticated') throw error
  }
  navigate('/login')
  queryClient.clear()
}
