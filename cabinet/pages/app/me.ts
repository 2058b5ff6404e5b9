import type { UseQueryResult } from '@tanstack/react-query'
import { useEffect, useRef } from 'react'
import { navigate } from 'wouter/use-browser-location'
import { call } from '../api/call.ts'
import type { Answer } from '../api/calls.ts'
import { forgetOrganization } from '../api/organization.ts'
import { asProblem } from '../api/problem.ts'
import { useRead } from '../api/queries.ts'
import { queryClient } from '../api/query-client.ts'
import { setLanguage } from '../i18n/language.ts'
import { forgetSession } from '../navigation/sign-out.ts'
import { leaveOnceAllowed } from '../navigation/stay-here.ts'
import type { Language } from '../preferences.ts'

export type Me = Answer<'GET /me'>

/** The signed-in user. Without one, a page of the cabinet leads to the sign-in. */
export function useMe(): UseQueryResult<Me> {
  return useRead('/me')
}

export type Right = NonNullable<Me['organization']>['rights'][number]

/** Whether the user has this permission in their organization; assumed until known. */
export function useMay(right: Right): boolean {
  const me = useMe().data
  return me === undefined || me.organization?.rights.includes(right) === true
}

/** Whether the user's address is confirmed, which everything that costs money requires; assumed until known. */
export function useIsConfirmed(): boolean {
  return useMe().data?.is_confirmed ?? true
}

/** Reloads the page when another user has signed in, in another tab: nothing read or typed here is theirs. */
export function useReloadForSomebodyElse(): void {
  const id = useMe().data?.id
  const first = useRef(id)
  useEffect(() => {
    first.current ??= id
    if (id === undefined || id === first.current) return
    leaveOnceAllowed(() => {
      queryClient.clear()
      location.reload()
    })
  }, [id])
}

/** Ends the session and forgets everything read in it. @throws ApiProblem if the session continues */
export async function signOut(): Promise<void> {
  try {
    await call('POST /auth/logout')
  } catch (error) {
    if (asProblem(error).code !== 'unauthenticated') throw error
  }
  forgetOrganization()
  forgetSession()
  navigate('/login')
  queryClient.clear()
}

/** Changes the language of the pages at once, and of emails if the user is signed in. */
export function chooseLanguage(language: Language): void {
  setLanguage(language)
  if (queryClient.getQueryData(['/me', {}]) === undefined) return
  void call('PATCH /me', { body: { locale: language } }).then(
    (me) => queryClient.setQueryData(['/me', {}], me),
    () => undefined, // the pages show it already, and the settings show the language of emails
  )
}
