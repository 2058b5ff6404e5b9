--[[ The `inspect` of those who may only read: what it takes and answers is said there. ]]

begin()
return of_key(usable)
