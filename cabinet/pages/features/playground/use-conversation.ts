import { useSyncExternalStore } from 'react'
import { atSignOut } from '../../navigation/sign-out.ts'
import { type Conversation, type ConversationState, createConversation } from './conversation-store.ts'

type Kept = { readonly owner: string; readonly conversation: Conversation }

/** Of this tab, in memory only: it survives other pages, and neither a reload nor the end of the session. */
let kept: Kept | undefined
atSignOut(forget)

/** The conversation of a user in an organization, and its state. */
export function useConversation(
  owner: string,
  baseUrl: string,
): { readonly conversation: Conversation; readonly state: ConversationState } {
  const conversation = conversationOf(owner, baseUrl)
  return { conversation, state: useSyncExternalStore(conversation.subscribe, conversation.read) }
}

function conversationOf(owner: string, baseUrl: string): Conversation {
  if (kept?.owner !== owner) {
    forget()
    kept = { owner, conversation: createConversation(baseUrl) }
  }
  return kept.conversation
}

function forget(): void {
  kept?.conversation.stop()
  kept = undefined
}
