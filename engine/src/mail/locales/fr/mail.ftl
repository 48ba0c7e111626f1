# Messages de fin d'un paiement ou d'un versement. Mêmes clés que le fichier anglais ; un test le vérifie.

sandbox-mark = [SANDBOX]
sandbox-note = Ceci est un test dans l'environnement sandbox. Aucun argent n'a circulé.
preview-mark = [Aperçu du message au client]
preview-note = Voici ce que votre client reçoit en production.

merchant-payment-success = Paiement de { $amount } reçu – { $app }
merchant-payment-success-text = Un paiement de { $amount } à { $app } a abouti.
merchant-payment-failed = Paiement de { $amount } échoué – { $app }
merchant-payment-failed-text = Un paiement de { $amount } à { $app } a échoué. Aucun argent n'a été reçu.
merchant-payment-cancelled = Paiement de { $amount } annulé – { $app }
merchant-payment-cancelled-text = Un paiement de { $amount } à { $app } a été annulé. Aucun argent n'a été reçu.
merchant-payout-success = Versement de { $amount } envoyé – { $app }
merchant-payout-success-text = Un versement de { $amount } de { $app } a abouti.
merchant-payout-failed = Versement de { $amount } échoué – { $app }
merchant-payout-failed-text = Un versement de { $amount } de { $app } a échoué. Le bénéficiaire n'a pas été payé.

customer-payment-success = Votre paiement de { $amount } à { $app }
customer-payment-success-text = Merci, { $name }. Votre paiement de { $amount } à { $app } a bien été reçu.

heading-success = Abouti
heading-failed = Échoué
heading-cancelled = Annulé

label-amount = Montant
label-asked = Montant de la commande
label-rate = Taux de change
label-markup = Marge, comprise dans le taux
label-description = Description
label-customer = Client
label-method = Moyen de paiement
label-reason = Motif
label-date = Date
label-reference = Référence
label-support = Questions
receipt-link = Voir le reçu

footer-merchant = Vous recevez ce message parce que les notifications sont actives pour { $app }. Elles se désactivent dans les réglages de l'application. Avant de livrer, interrogez l'API : un message n'est pas une preuve de paiement.
footer-customer = Gardez ce message comme reçu. Une question sur votre commande ? Répondez à ce message ou contactez { $app }.
footer-customer-no-reply = Gardez ce message comme reçu. Une question sur votre commande ? Contactez { $app }. Merci de ne pas répondre : cette adresse n'est pas consultée.
footer-service = Envoyé par { $service }
