import type { UseQueryResult } from '@tanstack/react-query'
import { useEffect, useRef } from 'react'
import { navigate } from 'wouter/use-browser-location'
import { call } from '../api/call.ts'
import type { Answer } from '../api/calls.ts'
import { asProblem } from '../api/problem.ts'
import { useRead } from '../api/queries.ts'
import { queryClient } from '../api/query-client.ts'
import { leaveOnceAllowed } from '../kit/stay-here.ts'
import type { Language } from '../preferences.ts'
import { setLanguage } from '../words/language.ts'

export type Me = Answer<'GET /me'>

/** Who is signed in; where that is nobody a page of the cabinet leads to the sign-in. */
export function useMe(): UseQueryResult<Me> {
  return useRead('/me')
}

export type Right = NonNullable<Me['organization']>['rights'][number]

/** Whether somebody may do this in their organization; taken for granted until that is known. */
export function useMay(right: Right): boolean {
  const me = useMe().data
  return me === undefined || me.organization?.rights.includes(right) === true
}

/** Whether they have confirmed their address, as whatever costs something asks for; taken for granted in the same way. */
export function useIsConfirmed(): boolean {
  return useMe().data?.is_confirmed ?? true
}

/** Begins anew once somebody else has signed in, in another tab: nothing read or typed here is theirs. */
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

/** Ends the session, and forgets everything that it has read. @throws ApiProblem while it goes on */
export async function signOut(): Promise<void> {
  try {
    await call('POST /auth/logout')
  } catch (error) {
    if (asProblem(error).code !== 'unauthenticated') throw error
  }
  navigate('/login')
  queryClient.clear()
}

/** Of the pages at once; of letters too, for whoever is signed in. */
export function chooseLanguage(language: Language): void {
  setLanguage(language)
  if (queryClient.getQueryData(['/me', {}]) === undefined) return
  void call('PATCH /me', { body: { locale: language } }).then(
    (me) => queryClient.setQueryData(['/me', {}], me),
    () => undefined, // the pages have it, and the settings show what letters have
  )
}
