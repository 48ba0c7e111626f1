# Mails about the end of a payment or payout. The French file has the same keys; a test holds that.
# $amount is formatted by the currency's rules; $app is the merchant's app; $service is this service's name.

sandbox-mark = [SANDBOX]
sandbox-note = This is a test in the sandbox environment. No money moved.

merchant-payment-success = Payment of { $amount } received – { $app }
merchant-payment-success-text = A payment of { $amount } to { $app } was completed successfully.
merchant-payment-failed = Payment of { $amount } failed – { $app }
merchant-payment-failed-text = A payment of { $amount } to { $app } failed. No money was received.
merchant-payment-cancelled = Payment of { $amount } cancelled – { $app }
merchant-payment-cancelled-text = A payment of { $amount } to { $app } was cancelled. No money was received.
merchant-payout-success = Payout of { $amount } sent – { $app }
merchant-payout-success-text = A payout of { $amount } from { $app } was completed successfully.
merchant-payout-failed = Payout of { $amount } failed – { $app }
merchant-payout-failed-text = A payout of { $amount } from { $app } failed. The recipient was not paid.

customer-payment-success = Your payment of { $amount } to { $app }
customer-payment-success-text = Thank you, { $name }. Your payment of { $amount } to { $app } was received.

heading-success = Completed
heading-failed = Failed
heading-cancelled = Cancelled

label-amount = Amount
label-description = Description
label-customer = Customer
label-method = Method
label-reason = Reason
label-date = Date
label-reference = Reference

footer-merchant = You receive this because notifications are on for { $app }. They can be switched off in the app's settings. Before you deliver, ask the API: a mail is no proof of payment.
footer-customer = Keep this message as your receipt. Questions about your order? Answer this mail or contact { $app }.
footer-customer-no-reply = Keep this message as your receipt. Questions about your order? Contact { $app }; nobody reads answers to this mail.
footer-service = Sent by { $service }
