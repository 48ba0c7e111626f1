# Mails about the end of a payment or payout, and about cases. The French file has the same keys; a test holds that.
# $amount is formatted by the currency's rules; $app is the merchant's app; $service is this service's name.

sandbox-mark = [SANDBOX]
sandbox-word = SANDBOX
sandbox-note = This is a test in the sandbox environment. No money moved.
preview-mark = [Preview of the customer’s mail]
preview-note = This is what your customer receives in live.

merchant-payment-success = Payment of { $amount } received – { $app }
merchant-payment-success-text = A payment of { $amount } to { $app } was completed successfully.
merchant-payment-failed = Payment of { $amount } failed – { $app }
merchant-payment-failed-text = A payment of { $amount } to { $app } failed.
merchant-payment-cancelled = Payment of { $amount } cancelled – { $app }
merchant-payment-cancelled-text = A payment of { $amount } to { $app } was cancelled.
merchant-payout-success = Payout of { $amount } sent – { $app }
merchant-payout-success-text = A payout of { $amount } from { $app } was completed successfully.
attention-payment = It needs manual review: read the mail about that before you deliver.
attention-payment-stands = It stands, although other money for it was taken back. An earlier mail that asked to deliver nothing is about that money. Compare both with the provider’s records before you deliver.
attention-payout-stands = It stands, although the provider took its report about another attempt back. Compare both with its records before you send anything again.
attention-payout = It needs manual review: read the mail about that before you send anything again.
merchant-payout-failed = Payout of { $amount } failed – { $app }
merchant-payout-failed-text = A payout of { $amount } from { $app } failed.

customer-payment-success = Your payment of { $amount } to { $app }
customer-payment-success-text = Thank you, { $name }. Your payment of { $amount } to { $app } was received.
customer-paid-twice = We have received more than one payment for this order. Please do not pay again. Ask { $app } to return the extra payment, and give the reference.
customer-other-failed = Providers had reported { $received } in all for this order, and later that another payment of it failed. If that money left your account, contact { $app } and give the reference.
customer-surplus = We have received more than was asked. Please do not pay again. Ask { $app } to return the difference, and give the reference.
customer-review = This payment is being reviewed. Please do not pay again. If you have questions, contact { $app } and give the reference.
customer-part = Part of your payment to { $app } arrived: { $received } of { $asked }
customer-part-text = Part of your payment to { $app } arrived: { $received } of { $asked }. It does not pay for the order. Please do not pay again. { $app } sees this too: contact them and give the reference.
customer-received = We have received { $received } for your payment to { $app }
customer-received-text = We have received { $received } for your payment to { $app }, and it is being reviewed. Please do not pay again. { $app } sees this too: contact them and give the reference.
customer-late = { $received } arrived after the end of your payment to { $app }
customer-late-text = We have received { $received } for a payment to { $app } that had ended before, so it did not pay for the order. Please do not pay again. { $app } sees this too and has to settle it with you: contact them and give the reference.
customer-contradicting-text = { $other ->
    [none] The provider reported { $received } as received for your payment to { $app }, and another report of it names a different amount.
   *[some] The provider reported { $received } as received for your payment to { $app }, and { $other } in another report.
} The payment is being reviewed. Please do not pay again. { $app } sees this too: contact them and give the reference.
customer-twice = We have received more than one payment for your order at { $app }
customer-taken-back = The provider changed its report about your payment to { $app }
customer-taken-back-text = The provider had reported { $received } as received for your payment to { $app }, and later reported the payment as failed. This replaces any earlier mail about this payment. Please do not pay again before { $app } has checked the payment: contact them and give the reference.
customer-partly-taken-back-text = Providers had reported { $received } as received for your payment to { $app }, and later reported a part of it as failed. This replaces any earlier mail about this payment. Please do not pay again before { $app } has checked the payment: contact them and give the reference.
customer-second-failed = Another payment for your order at { $app } failed
customer-second-failed-text = Your payment of { $amount } to { $app } stands. Providers had reported { $received } in all for this order, and later that another payment of it failed. If that money left your account, contact { $app } and give the reference.

heading-success = Completed
heading-failed = Failed
heading-cancelled = Cancelled
heading-part = Part received
heading-received = Received
heading-review = Being reviewed

label-amount = Amount
label-due = { $kind ->
    [payout] Amount ordered
   *[payment] Amount asked
}
label-asked = Order amount
label-rate = Exchange rate
label-fee = Provider’s fee, included
label-markup = Mark-up, part of the rate
label-description = Description
label-customer = { $kind ->
    [payout] Recipient
   *[payment] Customer
}
label-method = { $kind ->
    [payout] Payout method
   *[payment] Method
}
label-reason = Reason
label-return = { $kind ->
    [payout] Ask back
   *[payment] To return
}
reason-insufficient_funds = Not enough money in the account.
reason-payer_declined = Refused by the payer, their bank or their provider.
reason-payer_timeout = It was not confirmed in time.
reason-payer_busy = Another payment of the payer was open at the provider.
reason-invalid_account = No active account under this number.
reason-limit_exceeded = Above a limit of the account.
reason-amount_out_of_range = This method does not take the amount.
reason-expired = The time was up before it was confirmed.
reason-not_permitted = The provider does not allow it.
reason-merchant_funds = Not enough money in your account at the provider.
reason-provider_unavailable = The provider could not be reached.
reason-misconfigured = The settings of the connection are wrong.
reason-other = Refused by the provider.
reason-stopped = It was stopped before it was sent.
reason-said = { $reason } The provider’s message: { $message }
label-date = Date
label-reference = Reference
label-support = Questions
receipt-link = See the receipt

footer-merchant = { $kind ->
    [payout] You receive this because notifications are on for { $app }. The operator of this service can switch them off for the app. A mail is no proof: check the payout through the API.
   *[payment] You receive this because notifications are on for { $app }. The operator of this service can switch them off for the app. Check the payment through the API before you deliver: a mail is no proof of payment.
}
footer-merchant-ended = You receive this because notifications are on for { $app }. The operator of this service can switch them off for the app. A mail is no proof: the API has the status.
footer-customer = Keep this message as your receipt. Questions about your order? Reply to this mail or contact { $app }.
footer-customer-no-reply = Keep this message as your receipt. Questions about your order? Contact { $app }. Please do not reply: this mailbox is not monitored.
footer-question = Questions? Reply to this mail or contact { $app }.
footer-question-no-reply = Questions? Contact { $app }. Please do not reply: this mailbox is not monitored.
footer-service = Sent by { $service }

merchant-payment-case = Payment of { $amount } needs attention – { $app }
merchant-payment-case-text = A payment of { $amount } to { $app } needs manual review, for the reason below.
merchant-payout-case = Payout of { $amount } needs attention – { $app }
merchant-payout-case-text = A payout of { $amount } from { $app } needs manual review, for the reason below.
heading-case = Needs attention

money-nothing-payment = No money was received.
money-nothing-payout = The recipient was not paid.
money-received-payment = { $received } was received; { $asked } was asked.
money-received-payout = The provider reported { $received } as sent; { $asked } was ordered.
money-taken-back-payment = The provider had reported { $received } as received, and later reported the payment as failed; { $asked } was asked.
money-taken-back-payout = The provider had reported { $received } as sent, and later reported the payout as failed; { $asked } was ordered.
money-partly-taken-back-payment = Providers had reported { $received } as received, and later reported a part of it as failed; { $asked } was asked.
money-partly-taken-back-payout = Providers had reported { $received } as sent, and later reported a part of it as failed; { $asked } was ordered.
money-reported-payment = { $other ->
    [none] The provider reported { $received } as received; { $asked } was asked.
   *[some] The provider reported { $received } as received, and { $other } in another report; { $asked } was asked.
}
money-reported-payout = { $other ->
    [none] The provider reported { $received } as sent; { $asked } was ordered.
   *[some] The provider reported { $received } as sent, and { $other } in another report; { $asked } was ordered.
}
money-disputed-payment = Its reports name different amounts: compare them with its records before you deliver or return anything, whatever an earlier mail asked for.
money-disputed-payout = Its reports name different amounts: compare them with its records before you send money again or ask for any back.
money-return-payment = Return it to the customer: { $received } in all, less what you have returned already.
money-return-payout = Ask for it back before you send another payout: { $received } in all.
money-and-unreadable = and an amount that cannot be read
amount-unreadable = an amount that cannot be read
money-unreadable = The provider reported money, and its amount cannot be read.
money-unreadable-back = The provider had reported money of an amount that cannot be read, and later reported it as failed.
money-unknown = It is not certain yet whether money moved.

label-received = { $kind ->
    [payout] Reported as sent
   *[payment] Received
}
label-received-all = { $kind ->
    [payout] Reported as sent, in all
   *[payment] Received in all
}
label-reported = Reported by the provider
label-reported-all = Reported in all
label-second-report = Second report of the provider
label-case = For review
case-money_after_the_end = { $kind ->
    [payout] The provider reported money as sent after the payout had ended, or while another attempt was in progress.
   *[payment] Money was received after the payment had ended, or while another attempt was in progress.
}
case-found_after_not_sent = The provider has an attempt that had ended here without money, and may move money for it. No other attempt starts.
case-late_success = { $kind ->
    [payout] The provider reported an attempt as paid that had counted as failed. This settles the payout: check it in the provider’s records.
   *[payment] The provider reported money for an attempt that had counted as failed. It settles the payment: check it in the provider’s records before you deliver.
}
case-paid_twice = { $kind ->
    [payout] Money was sent for two attempts: ask for the money back that did not settle the payout.
   *[payment] Money was received for two attempts: refund the money that did not settle the payment.
}
case-surplus = { $kind ->
    [payout] More was sent than was ordered: ask for the surplus back.
   *[payment] More was received than was asked: return the surplus.
}
case-contradicting_success = { $charges ->
    [one] { $kind ->
        [payout] The provider reported different amounts for one payout. Compare them with the provider’s records before you send money again or ask for any back.
       *[payment] The provider reported different amounts for one payment. Return nothing before they were compared with the provider’s records.
    }
   *[several] { $kind ->
        [payout] The provider reported two different successes for one attempt, which may be the same money. Compare them with the provider’s records before you send money again or ask for any back.
       *[payment] The provider reported two different successes for one attempt, which may be the same money. Return nothing before it was compared with the provider’s records.
    }
}
case-ambiguous_provider_id = { $kind ->
    [payout] The provider used one id for two attempts. Compare both with its records before you send money again.
   *[payment] The provider used one id for two attempts, and one charge may stand for both. Compare both with its records before you deliver.
}
case-success_contradicted = { $success ->
    [stands] The provider reported a second charge as moved, and later that it failed. The charge that succeeded stands.
    [part] { $kind ->
        [payout] The provider reported money as sent, and later a part of it as failed. Send nothing again before this is cleared.
       *[payment] The provider reported money as received, and later a part of it as failed. Deliver nothing and return nothing for it before this is cleared, whatever an earlier mail asked for.
    }
   *[open] { $kind ->
        [payout] The provider reported the payout as sent, and later as failed. Do not send it again before this is cleared.
       *[payment] The provider reported money as received, and later the payment as failed. Deliver nothing and return nothing for it before this is cleared, whatever an earlier mail asked for.
    }
}
case-amount_differs = { $difference ->
    [less] { $kind ->
        [payout] For one attempt, less was sent than was ordered.
       *[payment] For one attempt, less was received than was asked.
    }
    [more] { $kind ->
        [payout] For one attempt, more was sent than was ordered.
       *[payment] For one attempt, more was received than was asked.
    }
    [same] The provider reported the full amount, but did not confirm it as final.
    [currency] { $kind ->
        [payout] Money was sent in another currency than was ordered.
       *[payment] Money was received in another currency than was asked.
    }
    [contradicting] The provider reported different amounts for one attempt.
   *[unreadable] The provider reported money without an amount that can be read.
}
case-no_final_answer = The provider has given no final answer for three days.
case-unknown_after_restore = The service was restored from a backup. This transaction may have been sent to the provider after the backup, and the provider cannot tell us.

# Mails to users of the console. $account is the merchant's account, or the service itself.
invitation-subject = Your invitation to { $account }
invitation-text = Hello { $name }, you have been invited to { $account } on { $service } with the role { $role }. Open the link to choose your password and sign in.
invitation-service-text = Hello { $name }, you have been invited to { $service } with the role { $role }. Open the link to choose your password and sign in.
invitation-button = Accept the invitation
invitation-note = If you did not expect this mail, ignore it: nothing happens without the link.
reset-subject = A new password for { $service }
reset-text = Hello { $name }, a new password was asked for your account. Open the link to choose one.
reset-button = Choose a new password
reset-note = If you did not ask for it, ignore this mail: your password stays as it is. Nobody from { $service } asks you for this link.
proposal-subject = A proposal in { $account } waits for your decision
proposal-text = Hello { $name }, { $by } made a proposal in { $account } that takes effect when a second person approves it. Open its page to approve or reject it.
proposal-button = Open the proposal
proposal-note = Nothing happens before a decision.
proposal-until = The proposal is open until { $until }.
link-until = The link works once, until { $until }.
role-owner = owner
role-admin = administrator
role-developer = developer
role-finance = finance
role-support = support
role-viewer = viewer
role-operator = operator
role-auditor = auditor
