"""English."""

from __future__ import annotations

from holdfast.facts.dialogue.vocabulary import Vocabulary

ENGLISH = Vocabulary(
    language="en",
    forbids=(
        "never|always|don't|dont|do not|must|must not|mustn't|shall not|may not|should not|"
        "shouldn't|shouldnt|should never|under no circumstances|under any circumstances|"
        "in no case|not allowed|forbidden|prohibited|strictly|mandatory|at all times|by no means|"
        "no matter what|non-negotiable|hard requirement|it is essential|it's essential|"
        "not permitted|not acceptable|disallow|disallowed|out of scope|off limits"
    ),
    limits=(
        "only|instead of|instead|rather than|at most|at least|no more than|no less than|"
        "not more than|not less than|no fewer than|no later than|no earlier than|maximum|minimum|"
        "limit|limited to|max|min|without|avoid|avoiding|prefer|prefers|preferred|preferably|"
        "preference|preferences|make sure|making sure|ensure|ensuring|ensures|be sure|be careful|"
        "except|excluding|exclude|unless|until|exactly|not use|not using|not to|no need|stick to|"
        "stick with|as long as|important|importantly|required|requires|require|requirement|"
        "requirements|constraint|constraints|ought to|keep|keeping|not change|not touch|"
        "not modify|not add|not remove|not be|remember to|keep in mind|note that|whatever you do|"
        "regardless|by default|as is|as-is|one at a time|and not|but not|to not|restrict|"
        "restricted|i'd rather|no longer|cannot be|can't be|up to|willing to pay|budget"
    ),
    hints=(
        "should|need to|needs to|have to|has to|want|wants|wanted|use|can't|cannot|can not|"
        "supposed to|leave|ignore|skip|more than|less than|fewer than|won't|will not|wouldn't|"
        "not allow|allowed to|under|within|needed|please stop|remember"
    ),
    mild=(
        "i don't know|i dont know|i don't remember|i don't recall|i don't think|"
        "i don't understand|i don't see|i don't believe|i don't have|i don't get|i do not know|"
        "i do not remember|i do not recall|i do not think|i do not have|we don't have|"
        "you don't have|they don't|i can't remember|i can't recall|i cannot remember|"
        "i cannot recall|if you don't|never used|never set|is never|was never|are never|"
        "were never|has never|have never|had never|i've never|it must be|must be a|i always|"
        "it always|is always|was always|are always|never tested|never called|never reached"
    ),
    idle=(
        "don't worry|not sure|not only|no problem|no worries|why not|or not|if not|"
        "whether or not|all good|no thanks|no thank you|no that's|no i'm|first name|in no time|"
        "no one|first time|why don't we|why don't you|can't we|can't you|couldn't we|isn't it|"
        "isn't that|isn't there|doesn't it|didn't we|aren't we|you must be|must have been|"
        "more than happy|at first|over here|over there|all over|mind if|would you mind|"
        "never mind|nevermind|no idea|up to date|up to you|up to speed|up to now|"
        "regression test|regression tests|interrupted by user"
    ),
    asks=(
        "what is|what are|what was|what were|what's|what do|what does|what did|what can|"
        "what about|what if|what would|what should|what will|what kind|what type|which one|"
        "which of|which is|which are|how do|how does|how did|how can|how could|how would|"
        "how should|how many|how much|how long|how is|how are|how was|how about|how come|why is|"
        "why are|why do|why does|why did|why was|why were|why can't|why not|why don't|why would|"
        "where is|where are|where do|where does|where did|where can|where should|when is|"
        "when are|when do|when does|when did|when will|when should|who is|who are|who does|"
        "who owns|who can|can you|can we|can i|could you|could we|could i|would you|would it|"
        "would that|will you|will it|will this|do you|do we|do i|does it|does this|does that|"
        "does the|did you|did we|did it|is it|is this|is that|is there|is the|are you|are we|"
        "are there|are these|are those|are they|should i|should we|should it|should the|shall we|"
        "shall i|may i|have you|have we|has it|was it|was this|was that|were there|any idea|"
        "any other|anything else"
    ),
    decides=(
        "i'll use|i will use|i'm using|i am using|i used|we'll use|we will use|i'll go with|"
        "i went with|i've gone with|going with|go with|decided|decision|decide to|chose|chosen|"
        "choosing|i choose|opted|opting|instead of|rather than|instead|i'd stop|i'm keeping|"
        "i kept|we keep|i'll leave|i left|i'm leaving|i recommend|i'd recommend|"
        "my recommendation|recommend|recommended|recommendation|i suggest|i'd suggest|"
        "switching to|switch to|switched to|switched from|in favor of|in favour of|best approach|"
        "better approach|simplest approach|cleanest approach|right approach|cleanest fix|"
        "right fix|simplest fix|best option|cleanest option|simplest option|best choice|"
        "better choice|the plan is|plan is to|trade-off|tradeoff|i'd rather|i would rather|"
        "i prefer|i'd prefer|not going to|won't be|deliberately|intentionally|on purpose|"
        "by design|the approach is|my approach|replaced|i'll stick|sticking with|agreed on|"
        "we agreed"
    ),
    finds=(
        "root cause|root causes|the fix is|the fix was|fix is to|turns out|turned out|the bug is|"
        "the bug was|bug is|bug was|the problem is|the problem was|the issue is|the issue was|"
        "real issue|real problem|actual issue|actual problem|actual bug|real bug|the culprit|"
        "caused by|is caused|was caused|the cause|causes the|causing|the reason is|"
        "the reason was|reason is that|the reason it|that's why|that is why|which is why|"
        "this is why|explains why|explains|i found|found that|found the|we found|discovered|"
        "i discovered|confirmed that|confirms that|confirms|confirmed|fails because|"
        "failed because|failing because|fails with|failed with|failing with|the failure is|"
        "the failure was|the error is|the error was|the key insight|key finding|key findings|"
        "key point|the catch|race condition|regression|is not supported|isn't supported|"
        "not supported|not possible|does not exist|doesn't exist|no longer|was never|"
        "never called|never used|never set|is never|are never|unused|pre-existing|unrelated|"
        "is missing|was missing|are missing|missing from|mismatch|deadlock|the limitation|"
        "limitation|workaround|gotcha|caveat|blocked by|blocker|depends on|i was wrong|i misread|"
        "my mistake|false positive|incorrect|incorrectly|flaky"
    ),
    leans=(
        "i'll|i will|i'm|i am|we'll|we should|we need|we can|let's|should|must|need to|needs to|"
        "returns|return|fails|failed|works|does not|doesn't|cannot|can't|is not|isn't|only|"
        "expects|requires|uses|added|removed|changed|moved|keeps|looks like|it seems|appears|"
        "this means|that means|which means|so the|safe|correct|better|simpler|never|always|i've|"
        "unfortunately|not|avoid|avoids|prevents|allows"
    ),
    reasons=(
        "because|since|so that|to avoid|due to|in order to|therefore|which means|this means|"
        "that means|given that|otherwise|thus|hence|rationale|to prevent"
    ),
    stops=(
        "the|and|is|are|to|of|you|that|this|it|for|with|not|be|have|was|what|can|please|my|from|"
        "but|we|if|there|should|would|will|i|do|how|an|at|by"
    ),
)
