/** A frame of a stream that clients skip: written in silence, and to see whether a client is still there. */
export const keepAliveFrame = ': keep-alive\n\n'
